# SPDX-License-Identifier: MIT
"""Child processes with a log file, and waiting for conditions."""
import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import time


_CROWDED = 0.1  # the least that a second of waiting counts


def _share():
    """How much of a processor somebody gets who wants one now: 1, or less where more want one than there are."""
    with open("/proc/loadavg", encoding="ascii") as file:
        running = int(file.read().split()[3].split("/")[0])
    return max(_CROWDED, min(1, len(os.sched_getaffinity(0)) / max(running, 1)))


def wait_until(predicate, seconds, what):
    """
    Polls until predicate() is true and returns its value: the longer it waits, the less often, for what asks takes the
    time of what is waited for. After so many seconds it fails and says what was waited for and what was seen last.
    Where more threads want to run than there are processors, each gets its share of a second, and that is what the
    second counts. An exception counts as "not yet": servers refuse connections while they start.
    """
    began = last = time.monotonic()
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
        if seconds < 0:
            raise AssertionError(f"waited {last - began:.0f} s in vain for: {what}; last seen: {seen}")
        time.sleep(min(0.02 + (last - began) / 10, 0.25))
        now = time.monotonic()
        seconds -= (now - last) * _share()
        last = now


# Ports that this process has asked for: whoever was told them may not listen yet, or is down for the moment. To other
# processes of the user that look for ports a lock on the byte of that number in this file says the same.
_given = set()
_LOCKS = os.path.join(tempfile.gettempdir(), f"shardwheel-ports-{os.geteuid()}")
_locks = None
_FIRST = 12000


def _is_ours(port):
    """Nobody else's until this process ends."""
    global _locks
    if _locks is None:
        _locks = os.open(_LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(_locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        return True
    except OSError:
        return False


def free_ports(count=1):
    """Ports of 127.0.0.1, in a row, that are free, nobody else's and outside the kernel's range for clients."""
    first_dynamic = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
    span = first_dynamic - _FIRST - count
    assert span > 0, f"no {count} ports from {_FIRST} to {first_dynamic}"
    for _ in range(1000):
        base = _FIRST + int.from_bytes(os.urandom(4), "big") % span
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
            if not all(map(_is_ours, ports)):
                continue
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
