# SPDX-License-Identifier: MIT
"""Libraries that a node loads before its own, so that a part of its world is as a test wants it."""
import os
import subprocess


def build_shim(name, folder):
    """Compiles name.c of this folder; the path of the library."""
    path = os.path.join(folder, f"{name}.so")
    source = os.path.join(os.path.dirname(__file__), f"{name}.c")
    done = subprocess.run(
        ["cc", "-std=c17", "-O2", "-shared", "-fPIC", "-o", path, source, "-ldl"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    assert done.returncode == 0, f"{name} does not compile:\n{done.stdout}"
    return path
