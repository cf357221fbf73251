# SPDX-License-Identifier: MIT
"""HAProxy of the distribution in TCP mode: one address that leads to the one of several servers that is chosen."""
import glob
import os
import shutil
import socket
import tempfile

from .packages import unpacked
from .process import Process, free_ports, wait_until

_PACKAGES = ("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1")

# Servers are chosen by the test, through the socket; that they can be reached at all is checked as usual.
_CONFIG = """
global
    stats socket {folder}/admin level admin
defaults
    mode tcp
    timeout connect 1s
    timeout client 1h
    timeout server 1h
listen database
    bind 127.0.0.1:{port}
    option srvtcpka
    default-server check inter 200ms fastinter 100ms fall 2 rise 1 on-marked-down shutdown-sessions
"""


def home():
    """The folder with the unpacked packages."""
    return unpacked("haproxy", _PACKAGES)


class HAProxy:
    """Sessions go to the one server of `ports` that is `chosen`; those of the one before are cut."""

    def __init__(self, ports):
        self.folder = tempfile.mkdtemp(prefix="swha-")
        self.port = free_ports()
        self._names = {port: f"db{number}" for number, port in enumerate(ports, 1)}
        path = os.path.join(self.folder, "haproxy.cfg")
        with open(path, "w", encoding="ascii") as out:
            out.write(_CONFIG.format(folder=self.folder, port=self.port))
            for number, (port, name) in enumerate(self._names.items()):
                out.write(f"    server {name} 127.0.0.1:{port}{' disabled' if number else ''}\n")
        libraries = os.path.dirname(glob.glob(os.path.join(home(), "usr", "lib", "*", "liblua5.3.so.0"))[0])
        self.process = Process("haproxy", [f"{home()}/usr/sbin/haproxy", "-db", "-f", path],
                               os.path.join(self.folder, "haproxy.log"),
                               env={**os.environ, "LD_LIBRARY_PATH": libraries})

    def start(self):
        self.process.start()
        wait_until(lambda: self.ask("show servers state"), 20, f"HAProxy to be up\n{self.process.tail(20)}")
        return self

    def ask(self, command):
        """The answer of the admin socket."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(os.path.join(self.folder, "admin"))
            s.sendall(f"{command}\n".encode())
            answer = b""
            while chunk := s.recv(65536):
                answer += chunk
        return answer.decode()

    def choose(self, chosen):
        """None: nobody. The others' sessions are cut before the chosen one gets any."""
        for port, name in self._names.items():
            if port != chosen:
                self.ask(f"set server database/{name} state maint")
                self.ask(f"shutdown sessions server database/{name}")
        if chosen:
            self.ask(f"set server database/{self._names[chosen]} state ready")

    def stop(self):
        self.process.kill()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def start_haproxy(ports):
    """The first of them is chosen."""
    return HAProxy(ports).start()
