# SPDX-License-Identifier: MIT
"""A private ZooKeeper server from the distribution's jars."""

import pathlib
import shutil
import socket
import subprocess
import time

from benchlib import proc

JARS = {"/usr/share/java/zookeeper.jar": "libzookeeper-java", "/usr/share/java/slf4j-simple.jar": "libslf4j-java"}
START_S = 30


class ZooKeeper:
    """One server with its data in a folder of its own; start() returns when it answers."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.port = None
        self.process = None

    @property
    def servers(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        java = shutil.which("java")
        if not java:
            raise OSError("java is not installed, ZooKeeper needs it (Debian: default-jre-headless)")
        for jar, package in JARS.items():
            if not pathlib.Path(jar).is_file():
                raise OSError(f"{jar} is not there (Debian: {package})")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = proc.find_free_ports(1)
        config = self.folder / "zoo.cfg"
        config.write_text(f"tickTime=500\ndataDir={self.folder / 'data'}\nclientPort={self.port}\n"
                          "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=ruok\n"
                          "maxClientCnxns=0\n", encoding="utf-8")
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                [java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                 "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", ":".join(JARS),
                 "org.apache.zookeeper.server.ZooKeeperServerMain", str(config)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        end = time.monotonic() + START_S
        while not self._is_up():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise OSError(f"ZooKeeper did not start, see {self.folder / 'server.log'}")
            time.sleep(0.1)

    def _is_up(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as sock:
                sock.sendall(b"ruok")
                return sock.recv(4) == b"imok"
        except OSError:
            return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
