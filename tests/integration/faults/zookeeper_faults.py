# SPDX-License-Identifier: MIT
"""Faults of ZooKeeper itself."""
import re

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from .scenarios import fault
from .stage import SESSION_TIMEOUT_S

_SUPER_SECRET = 0xB3415C00  # of ZooKeeper's SessionTrackerImpl: the password of a session follows from its id


def _session_password(session):
    """What java.util.Random gives for that session: the server compares with nothing else."""
    seed = ((session ^ _SUPER_SECRET) ^ 0x5DEECE66D) & ((1 << 48) - 1)
    out = b""
    while len(out) < 16:
        seed = (seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        out += (seed >> 16 & 0xFFFFFFFF).to_bytes(4, "little")
    return out


def _session_of(node):
    found = re.findall(r"event=session_begun session=0x([0-9a-f]+)", node.log_text())
    assert found, f"{node.name} has begun no session\n{node.tail()}"
    session = int(found[-1], 16)
    return session - (1 << 64) if session >> 63 else session


@fault(hurts="zookeeper", seconds=(0.5, SESSION_TIMEOUT_S + 6))
def zookeeper_stopped(stage, rng):
    """The server is killed and started again with what it had on disk."""
    stage.zookeeper.stop()
    yield
    stage.zookeeper.start()


def _end_session(stage, session):
    """False: the node has taken the connection back before ours stood."""
    client = KazooClient(hosts=stage.zookeeper.servers, timeout=4, client_id=(session, _session_password(session)))
    try:
        client.start(timeout=5)
        assert client.client_id[0] == session, "the server has given another session: the password did not fit"
        return True
    except KazooTimeoutError:
        return False
    finally:
        client.stop()
        client.close()


@fault(hurts="zookeeper", seconds=(0, 1))
def zookeeper_session_expired(stage, rng):
    """Somebody ends a node's session at the server: its locks are free at once, and it hears of it later."""
    session = _session_of(stage.pick(rng))
    assert any(_end_session(stage, session) for _ in range(4)), "the session could not be ended"
    yield
