# SPDX-License-Identifier: MIT
"""Stands for systemd towards one node: the socket that it tells its state to, and the watchdog's time."""
import os
import socket
import threading
import time

from .process import wait_until


class ServiceManager:
    """environment() goes to the node. What it told is a list of (monotonic seconds, {name: value})."""

    def __init__(self, folder, watchdog_s=None, name="notify"):
        self.path = os.path.join(folder, name)
        self.watchdog_s = watchdog_s
        self.told = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        threading.Thread(target=self._listen, daemon=True).start()

    def environment(self):
        watchdog = {"WATCHDOG_USEC": str(int(self.watchdog_s * 1e6))} if self.watchdog_s else {}
        return {"NOTIFY_SOCKET": self.path, **watchdog}

    def _listen(self):
        while True:
            try:
                text = self._socket.recv(65536).decode()
            except OSError:
                return
            self.told.append((time.monotonic(), dict(line.split("=", 1) for line in text.splitlines())))

    def close(self):
        self._socket.close()

    def values(self, name):
        return [message[name] for _, message in list(self.told) if name in message]

    def wait(self, name, value, seconds=20, after=0):
        """Until it has told that, not counting the first `after` messages. Returns how many there were then."""
        def find():
            for i, (_, message) in enumerate(list(self.told)):
                if i >= after and message.get(name) == value:
                    return i + 1
            return None
        return wait_until(find, seconds, f"the node to tell {name}={value}; it told {self.told[-8:]}")

    def feeds(self, since):
        """When the watchdog was fed since that monotonic second."""
        return [at for at, message in list(self.told) if "WATCHDOG" in message and at >= since]

    def longest_gap(self, since):
        """Seconds between two feeds, or since the last one."""
        times = [since, *self.feeds(since), time.monotonic()]
        return max(b - a for a, b in zip(times, times[1:]))
