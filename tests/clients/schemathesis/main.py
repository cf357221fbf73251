# SPDX-License-Identifier: MIT
"""Starts schemathesis, whose packages stand beside this file."""
from schemathesis.cli import schemathesis

if __name__ == "__main__":
    schemathesis()
