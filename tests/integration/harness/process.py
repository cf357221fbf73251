# SPDX-License-Identifier: MIT
"""Child processes with a log file, and waiting for conditions."""
import os
import signal
import socket
import subprocess
import time


def wait_until(predicate, seconds, what):
    """
    Polls until predicate() is true and returns its value. After the deadline it fails and says what was waited for
    and what was seen last. An exception counts as "not yet": servers refuse connections while they start.
    """
    deadline = time.monotonic() + seconds
    while True:
        seen = None
        try:
            value = predicate()
            if value:
                return value
            seen = repr(value)
        except (OSError, LookupError, ValueError, AssertionError) as error:
            seen = f"{type(error).__name__}: {error}"
        except Exception as error:  # the drivers of databases and ZooKeeper have exceptions of their own
            if not type(error).__module__.startswith(("pymysql", "kazoo", "http")):
                raise
            seen = f"{type(error).__name__}: {error}"
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain for: {what}; last seen: {seen}")
        time.sleep(0.05)


# Ports that this process has asked for: whoever was told them may not listen yet, or is down for the moment.
_given = set()


def _port_range():
    """The part of this worker of pytest-xdist, or all: several workers look for ports at the same time."""
    low = 12000
    first_dynamic = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    width = (first_dynamic - low) // workers
    return low + worker * width, width


def free_ports(count=1):
    """Ports of 127.0.0.1, in a row, that are free, nobody else's and outside the kernel's range for clients."""
    low, width = _port_range()
    span = width - count
    assert span > 0, f"no {count} ports among the {width} from {low} on"
    for _ in range(1000):
        base = low + int.from_bytes(os.urandom(4), "big") % span
        ports = range(base, base + count)
        if not _given.isdisjoint(ports):
            continue
        held = []
        try:
            for port in ports:
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held.append(s)
                s.bind(("127.0.0.1", port))
            _given.update(ports)
            return base
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise AssertionError(f"found no {count} free ports in a row")


class Process:
    """A child process. It is killed when the test run dies, whatever way."""

    started = []  # all of the running test, for the report of a failure

    def __init__(self, name, command, log_path, env=None):
        self.name = name
        self.command = [str(c) for c in command]
        self.log_path = str(log_path)
        self.env = env  # None: that of this process
        self.popen = None

    def start(self):
        assert not self.running(), f"{self.name} runs already"
        with open(self.log_path, "ab") as log:
            self.popen = self._spawn(log)
        if self not in Process.started:
            Process.started.append(self)
        return self

    def _spawn(self, log, **options):
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--"] + self.command,
            **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "env": self.env, **options},
        )

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen is not None and self.popen.poll() is None

    def signal(self, number):
        assert self.running(), f"{self.name} is not running any more\n{self.tail()}"
        self.popen.send_signal(number)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def wait_exit(self, seconds):
        """The exit status; negative for a signal."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {seconds} s\n{self.tail()}") from None

    def terminate(self, seconds=20):
        """Asks it to end and returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait_exit(seconds)

    def kill(self):
        """As a power cut for the process: no chance to do anything. Fine when it is gone already."""
        if self.running():
            self.popen.kill()
        if self.popen is not None:
            self.popen.wait()

    def log_text(self):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def tail(self, lines=80):
        return "\n".join(self.log_text().splitlines()[-lines:])
