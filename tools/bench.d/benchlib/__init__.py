# SPDX-License-Identifier: MIT
"""Modules behind tools/bench and tools/audit."""
