# SPDX-License-Identifier: MIT
"""Clients that send nothing, or slowly, beside executors that beat; and executors that could not be heard."""
import json
import resource
import selectors
import socket
import threading
import time

import pytest

from harness.certificates import Authority
from harness.cluster import TOKEN
from harness.process import wait_until

IDLE, SLOW = 3000, 500
EXECUTORS = 20
ANSWER_S = 10  # a busy machine's; the figures that are wanted are printed

HEAD = b"POST /api/callback HTTP/1.1\r\nHost: x\r\nXXL-JOB-ACCESS-TOKEN: " + TOKEN.encode() + b"\r\n"
BODY = HEAD + b"Content-Length: 1000000\r\n\r\n"


HELLO = b"\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03"


class SlowClients(threading.Thread):
    """
    Keeps so many connections open without a token's use: idle ones, slow heads, slow bodies; with TLS also slow
    handshakes. What is closed comes anew.
    """

    def __init__(self, port, tls=None):
        super().__init__(daemon=True)
        self.port = port
        self.tls = tls
        self.stopping = threading.Event()
        self.complete = threading.Event()  # all were there once
        self.selector = selectors.DefaultSelector()
        self.reopened = 0

    def _open(self, kind):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        if self.tls and kind in ("head", "body"):
            connection = self.tls.wrap_socket(connection)
        connection.setblocking(False)
        if kind == "body":
            connection.send(BODY)
        self.selector.register(connection, selectors.EVENT_READ, kind)
        return connection

    def run(self):
        kinds = ["idle"] * IDLE + ["head", "body"] * (SLOW // 2) + ["hello"] * (SLOW if self.tls else 0)
        heads = {}
        for kind in kinds:
            connection = self._open(kind)
            if kind != "idle":
                heads[connection] = (kind, 0)
        self.complete.set()
        while not self.stopping.wait(0.5):
            for key, _ in self.selector.select(0):
                self.selector.unregister(key.fileobj)
                heads.pop(key.fileobj, None)
                key.fileobj.close()
                self.reopened += 1
                connection = self._open(key.data)
                if key.data != "idle":
                    heads[connection] = (key.data, 0)
            for connection, (kind, sent) in list(heads.items()):
                try:
                    slowly = {"head": HEAD, "hello": HELLO}.get(kind, b"")
                    connection.send(slowly[sent:sent + 1] or b" ")
                except OSError:
                    continue  # its end is read in the next round
                heads[connection] = (kind, sent + 1)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


def beat(node, address):
    return node.post("/api/registry", {"registryGroup": "EXECUTOR", "registryKey": "beating", "registryValue": address},
                     TOKEN, seconds=ANSWER_S)


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_slow_clients_keep_no_executor_from_beating(world, many_files, scheme):
    pem = Authority(world.folder).issue("node", "127.0.0.1")
    node = world.node(keys={"server.ssl.certificate": pem} if scheme == "https" else {})
    tables = world.tables
    group = tables.add_group("beating")
    addresses = [f"http://10.9.8.{i}:9999/" for i in range(10, 10 + EXECUTORS)]
    listed = ",".join(sorted(addresses))

    def address_list():
        return tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s", (group,))

    for address in addresses:
        assert beat(node, address).code == 200
    wait_until(lambda: address_list() == listed, 45, "all addresses in the list")

    clients = SlowClients(node.port, node.tls)
    clients.start()
    beats, liveness = [], []
    try:
        assert clients.complete.wait(60), "the slow clients could not connect"
        # As if the executors had been silent for long: who does not get through now expires at the next look.
        fresh = tables.value("SELECT MAX(update_time) - INTERVAL 60 SECOND FROM xxl_job_registry")
        tables.execute("UPDATE xxl_job_registry SET update_time = update_time - INTERVAL 85 SECOND")
        while clients.reopened < 100:  # until slow ones were cut off, and came again
            for address in addresses:
                begun = time.monotonic()
                assert beat(node, address).code == 200
                beats.append(time.monotonic() - begun)
            begun = time.monotonic()
            assert node.get("/actuator/health/liveness").status == 200
            liveness.append(time.monotonic() - begun)
            time.sleep(0.05)
        wait_until(
            lambda: tables.value("SELECT COUNT(*) FROM xxl_job_registry WHERE update_time > %s", (fresh,)) == EXECUTORS,
            20, "every beat to be written")
        connections = node.metrics()["shardwheel_http_connections"]
        assert connections >= (IDLE + SLOW) * 0.9
        assert address_list() == listed
        # The console does not stop either.
        assert node.get("/openapi.json").status == 200
        assert node.get("/api/v1/jobs").status == 401
        assert node.get("/jobinfo/pageList").status in (200, 302)  # as the dialect tells strangers
    finally:
        clients.stopping.set()
        clients.join()
    beats.sort()
    print(json.dumps({"scheme": scheme, "connections": connections, "reopened": clients.reopened,
                      "beat_p50_ms": round(beats[len(beats) // 2] * 1000, 1),
                      "beat_p99_ms": round(beats[len(beats) * 99 // 100] * 1000, 1),
                      "liveness_max_ms": round(max(liveness) * 1000, 1)}))


@pytest.mark.slow(90)
def test_no_node_lets_executors_expire_while_one_misses_beats(cluster):
    deaf, other = cluster.node("node-a"), cluster.node("node-b")
    tables = cluster.tables
    group = tables.add_group("beating")
    address, witness = "http://10.9.8.7:9999/", "http://10.9.8.8:9999/"

    def addresses():
        return (tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s", (group,)) or "").split(",")

    assert beat(deaf, address).code == 200
    wait_until(lambda: addresses() == [address], 45, "the address in the list")
    deaf.pause()
    time.sleep(7)  # that long no beat is heard there
    deaf.resume()
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_beats") == 1, 20, "the node to say so")
    # The executor was alive when that began, and is silent for longer than 90 s by now. The witness was not, but is no
    # older than what nodes put up with after a start: when it goes, a node has looked that is out of that patience.
    tables.execute("UPDATE shardwheel_beats SET began_ms = began_ms - 10000, missed_ms = missed_ms + 120000")
    tables.execute("UPDATE xxl_job_registry SET update_time = update_time - INTERVAL 85 SECOND")
    for _ in range(2):
        tables.execute(
            "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) "
            "SELECT registry_group, registry_key, %s, update_time - INTERVAL 200 SECOND FROM xxl_job_registry "
            "WHERE registry_value = %s",
            (witness, address))
        wait_until(lambda: not tables.rows("SELECT 1 FROM xxl_job_registry WHERE registry_value = %s", (witness,)), 90,
                   "a node to look for dead executors")
        assert address in addresses()
    assert tables.value("SELECT update_time < UTC_TIMESTAMP() - INTERVAL 90 SECOND FROM xxl_job_registry")
    assert "event=expiry_held" in other.log_text()
    tables.execute("UPDATE shardwheel_beats SET missed_ms = missed_ms - 300000")
    wait_until(lambda: addresses() == [""], 45, "the executor to expire in the end")
