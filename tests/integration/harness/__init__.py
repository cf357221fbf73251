# SPDX-License-Identifier: MIT
"""Servers, nodes and executors that the integration tests start privately. Nothing here uses a well-known port."""
