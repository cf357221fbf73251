# SPDX-License-Identifier: MIT
"""Private ZooKeeper servers from the distribution's jars: one alone, or an ensemble of three."""
import os
import shutil
import socket
import tempfile

from kazoo.client import KazooClient

from .process import Process, free_ports, wait_until

_CLASSPATH = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
# Ticks are short so that a lost leader or a dead session is noticed within seconds; ten of them (2 s) is what a
# follower waits for its leader.
_CONFIG = (
    "tickTime=200\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
    "minSessionTimeout=400\nmaxSessionTimeout=60000\nmaxClientCnxns=0\ninitLimit=25\nsyncLimit=10\n"
)


class ZooKeeperServer:
    """One server, alone unless `config` says more. What it held stays in its folder: start() goes on with it."""

    def __init__(self, folder, name="zookeeper", config=""):
        self.folder = folder
        self.port = free_ports()
        self.servers = f"127.0.0.1:{self.port}"
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "zoo.cfg")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"{_CONFIG}dataDir={folder}/data\nclientPort={self.port}\n{config}")
        self.process = Process(
            name,
            ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", _CLASSPATH,
             "org.apache.zookeeper.server.quorum.QuorumPeerMain", path],
            os.path.join(folder, "server.log"),
        )

    def ask(self, word):
        """One of the four-letter words."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
            s.sendall(word.encode())
            answer = b""
            while chunk := s.recv(4096):
                answer += chunk
        return answer.decode()

    def mode(self):
        """standalone, leader or follower; None when it is not up, not in a quorum or says nothing."""
        try:
            lines = self.ask("srvr").splitlines()
        except OSError:
            return None
        return next((line.split(": ")[1] for line in lines if line.startswith("Mode: ")), None)

    def launch(self):
        """Starts it and does not wait."""
        self.process.start()

    def wait_serving(self, seconds=30):
        wait_until(self.mode, seconds, f"{self.process.name} to serve on {self.servers}\n{self.process.tail(20)}")
        return self

    def start(self):
        self.launch()
        return self.wait_serving()

    def stop(self):
        """At once, as a power cut."""
        self.process.kill()


class ZooKeeper(ZooKeeperServer):
    def __init__(self):
        super().__init__(tempfile.mkdtemp(prefix="swzk-"))

    def client(self, chroot=""):
        return connect(self.servers + chroot)


class ZooKeeperEnsemble:
    """Three servers; two of them make a quorum. Clients may use any that is in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="swzk-")
        first = free_ports(6)
        peers = "".join(f"server.{i}=127.0.0.1:{first + 2 * i - 2}:{first + 2 * i - 1}\n" for i in (1, 2, 3))
        self.members = []
        for i in (1, 2, 3):
            folder = os.path.join(self.folder, str(i))
            os.makedirs(os.path.join(folder, "data"))
            with open(os.path.join(folder, "data", "myid"), "w", encoding="utf-8") as out:
                out.write(f"{i}\n")
            self.members.append(ZooKeeperServer(folder, f"zookeeper-{i}", peers))
        self.servers = ",".join(member.servers for member in self.members)

    @property
    def port(self):
        """Of the first one."""
        return self.members[0].port

    def start(self):
        for member in self.members:
            if not member.process.running():
                member.launch()
        for member in self.members:
            member.wait_serving()
        return self

    def wait_session(self):
        """Until a session can begin. Servers that stood still are in no quorum afterwards, once in a while: then all of
        them are started again."""
        for _ in range(3):
            client = KazooClient(hosts=self.servers, timeout=4)
            try:
                client.start(timeout=20)
                return
            except client.handler.timeout_exception:
                print("the ensemble gives no session: it is started again")
                self.stop()
                self.start()
            finally:
                client.stop()
                client.close()
        raise AssertionError(f"no session at {self.servers}")

    def leader(self, among=None, seconds=20):
        """The member that leads; waits for one."""
        def leading():
            return [member for member in among or self.members
                    if member.process.running() and member.mode() == "leader"]

        return wait_until(leading, seconds, "a leader of the ensemble")[0]

    def followers(self):
        """The members that follow, when all three are up."""
        leader = self.leader()
        return [member for member in self.members if member is not leader]

    def client(self, chroot=""):
        return connect(self.servers + chroot)

    def stop(self):
        for member in self.members:
            member.stop()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder)


def connect(servers):
    """A client that is connected; the caller stops it."""
    client = KazooClient(hosts=servers, timeout=4)
    client.start(timeout=10)
    return client
