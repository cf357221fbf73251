# SPDX-License-Identifier: MIT
"""The fault suite: a cluster under load is hurt at random moments, and the audit says what became of its fires."""
