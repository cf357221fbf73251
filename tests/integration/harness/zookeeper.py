# SPDX-License-Identifier: MIT
"""A private ZooKeeper server from the distribution's jars."""
import os
import socket
import tempfile

from kazoo.client import KazooClient

from .process import Process, free_ports, wait_until

_CLASSPATH = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"


class ZooKeeper:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="swzk-")
        self.port = free_ports()
        self.servers = f"127.0.0.1:{self.port}"
        config = os.path.join(self.folder, "zoo.cfg")
        with open(config, "w", encoding="utf-8") as out:
            out.write(
                f"tickTime=200\ndataDir={self.folder}/data\nclientPort={self.port}\n"
                "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
                "minSessionTimeout=400\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"
            )
        self.process = Process(
            "zookeeper",
            ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", _CLASSPATH,
             "org.apache.zookeeper.server.ZooKeeperServerMain", config],
            os.path.join(self.folder, "server.log"),
        )

    def start(self):
        self.process.start()
        wait_until(lambda: self.ask("ruok") == "imok", 30, f"ZooKeeper to answer on {self.servers}")
        return self

    def ask(self, word):
        """One of the four-letter words."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
            s.sendall(word.encode())
            answer = b""
            while chunk := s.recv(4096):
                answer += chunk
        return answer.decode()

    def client(self):
        """A client that is connected; the caller stops it."""
        client = KazooClient(hosts=self.servers, timeout=4)
        client.start(timeout=10)
        return client

    def stop(self):
        """What it held stays in its folder: start() goes on with it, as after a restart."""
        self.process.kill()
