# SPDX-License-Identifier: MIT
"""What the tests of tools/ share: the path to their modules, and the load executor, built once."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BENCH = ROOT / "tools" / "bench.d"
sys.path.insert(0, str(BENCH))


@pytest.fixture(scope="session")
def executor_binary(tmp_path_factory):
    """LOAD_EXECUTOR names one that is built already; else it is compiled, with the sanitizers."""
    given = os.environ.get("LOAD_EXECUTOR")
    if given:
        return given
    binary = tmp_path_factory.mktemp("bin") / "load_executor"
    sources = sorted(str(path) for path in BENCH.glob("load_*.c"))
    subprocess.run(["cc", "-std=c17", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                    "-o", str(binary), *sources], check=True)
    return str(binary)
