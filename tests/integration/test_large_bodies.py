# SPDX-License-Identifier: MIT
"""What large bodies cost: the memory of a node, and lines of its log."""
import http.client
import threading

import pytest

from harness.cluster import TOKEN
from harness.node import is_sanitized
from harness.process import wait_until

MIB = 1 << 20
STACK_TRACE = "m" * 50000


@pytest.fixture
def admin(make_world, mariadb):
    world = make_world(mariadb)
    return world.tables, world.node()


def memory_mb(node, what):
    """VmRSS, or VmHWM: the highest it ever was."""
    with open(f"/proc/{node.popen.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(what))


def backlog(tables, count):
    """A body with a result of 50 KB for each of so many rows."""
    ids = [tables.add_log() for _ in range(count)]
    entries = (f'{{"logId":{i},"logDateTim":1,"handleCode":500,"handleMsg":"{STACK_TRACE}"}}' for i in ids)
    return ("[" + ",".join(entries) + "]").encode()


def send_until_stored(node, body):
    """As an executor does, only sooner: a busy machine may need more than the second of one call."""
    wait_until(lambda: node.post("/api/callback", body, TOKEN, seconds=60).code == 200, 120, "all of it to be stored")


@pytest.mark.skipif("is_sanitized()", reason="a sanitizer takes memory of its own")
def test_a_body_of_small_things_takes_no_more_than_a_body(admin):
    _, node = admin
    things = b",".join([b"{}"] * (16 * MIB // 3))

    assert "logId is missing" in node.post("/api/callback", b"[" + things + b"]", TOKEN, seconds=60).json["msg"]
    nested = b'[{"logId":1,"handleCode":200,"x":[' + things + b'],"handleMsg":[' + things + b"]}]"
    # Executors send again what could not be stored within a second.
    wait_until(lambda: node.post("/api/callback", nested, TOKEN, seconds=60).code == 200, 30, "callbacks to be stored")
    few = b",".join([b"{}"] * (MIB // 4))  # beats are smaller
    beat = b'{"x":[' + few + b'],"registryGroup":"EXECUTOR","registryKey":"a","registryValue":"http://10.1.1.1:1/"}'
    assert node.post("/api/registry", beat, TOKEN, seconds=60).code == 200
    assert memory_mb(node, "VmHWM") < 100  # a tree of them took 4 GB


@pytest.mark.skipif("is_sanitized()", reason="a sanitizer takes memory of its own")
def test_backlogs_take_little_memory_and_give_it_back(admin):
    tables, node = admin

    send_until_stored(node, backlog(tables, 63 * MIB // 50100))
    assert memory_mb(node, "VmHWM") < 150

    bodies = [backlog(tables, 12 * MIB // 50100) for _ in range(16)]
    threads = [threading.Thread(target=send_until_stored, args=(node, body)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 0") == 0
    assert memory_mb(node, "VmHWM") < 300
    wait_until(lambda: memory_mb(node, "VmRSS") < 64, 10, "the memory to be given back")


def announce_too_much(node, token):
    """A call whose head announces more than is taken; the answer comes without the body."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=20)
    try:
        connection.putrequest("POST", "/api/callback")
        connection.putheader("Content-Length", str(1 << 40))
        if token:
            connection.putheader("XXL-JOB-ACCESS-TOKEN", token)
        connection.endheaders()
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_a_stranger_does_not_fill_the_log(admin):
    _, node = admin
    before = len(node.log_text())

    for _ in range(300):
        assert "access token is wrong" in announce_too_much(node, None)
    assert "event=body_too_large" not in node.log_text()
    for _ in range(100):
        assert "larger than" in announce_too_much(node, TOKEN)
        assert node.post("/api/callback", b"[", TOKEN).code == 500
    log = node.log_text()[before:]
    for event in ("call_denied", "body_too_large", "callback_refused"):
        assert 1 <= log.count(f"event={event}") <= 20, event  # five in 10 s; a busy machine takes its time
    assert len(log) < 20000
