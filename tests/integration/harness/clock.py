# SPDX-License-Identifier: MIT
"""A wall clock for one node that a test can set."""
import os
import struct
import subprocess

_SOURCE = os.path.join(os.path.dirname(__file__), "clock_shim.c")


def build_shim(folder):
    """Compiles the library that nodes with such a clock load; its path."""
    path = os.path.join(folder, "clock_shim.so")
    done = subprocess.run(
        ["cc", "-std=c17", "-O2", "-shared", "-fPIC", "-o", path, _SOURCE, "-ldl"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    assert done.returncode == 0, f"the clock's library does not compile:\n{done.stdout}"
    return path


class SteppedClock:
    def __init__(self, shim, folder, name):
        self.path = os.path.join(folder, f"{name}.clock")
        self.shim = shim
        self.set(0)

    def environment(self):
        """What a node needs in its environment to have this clock."""
        return {"LD_PRELOAD": self.shim, "CLOCK_SHIM_FILE": self.path}

    def set(self, ahead_s):
        """So much is the node's wall clock ahead of the true one from now on."""
        # In place and in one piece: the file is mapped by a node that runs.
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(fd, struct.pack("=q", int(ahead_s * 1_000_000)), 0)
        finally:
            os.close(fd)
