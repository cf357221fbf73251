# SPDX-License-Identifier: MIT
"""A wall clock for one node that a test can set."""
import os
import struct


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
