# SPDX-License-Identifier: MIT
"""Which of two servers the nodes write to: all of them to one, which is agreed on, and never two at once."""
import time

import pytest

from harness.pair import start_pair
from harness.process import wait_until
from harness.proxy import Proxy

SESSION_TIMEOUT_S = 4  # the default of shardwheel.zookeeper.session-timeout

@pytest.fixture(scope="module")
def pair(mariadb_template):
    """Asynchronous: what is promoted may lack the last commits."""
    pair = start_pair(mariadb_template, semi_sync=False)
    yield pair
    pair.remove()


def gauge(node, name):
    return int(node.metrics()[f"shardwheel_db_{name}"])


def wait_gauge(node, name, value, seconds=30):
    wait_until(lambda: gauge(node, name) == value, seconds, f"{node.name} to have {name} {value}\n{node.tail(20)}")


def place(pair, server, reverse=False):
    """Of a server in the list of a node, from 1."""
    return (list(reversed(pair.hosts)) if reverse else pair.hosts).index(server) + 1


def fail_over(pair):
    """Kills the one that takes writes, and promotes the other; when that was."""
    pair.primary.process.kill()
    pair.promote()
    return time.monotonic()


def wait_fire(world, executor, job, after_s, seconds=30):
    """Waits until a fire that was due after that second has gone out, and returns the node's delay."""
    before = executor.runs(job)
    wait_until(lambda: any(run.logDateTime // 1000 > after_s for run in executor.runs(job)[len(before):]), seconds,
               "fires to go out again")


def log_count(node, text):
    return node.log_text().count(text)


def test_standalone_goes_where_the_writes_go(make_world, pair):
    world = make_world(pair)
    node = world.node("alone")
    executor = world.executor()
    job = world.tables.add_job(world.group(executor))
    executor.wait_runs(job)
    assert gauge(node, "host") == place(pair, pair.primary)
    promoted = fail_over(pair)
    wait_gauge(node, "host", place(pair, pair.primary))
    wait_fire(world, executor, job, int(time.time()))
    print(f"standalone: fires {time.monotonic() - promoted:.1f} s after the promotion")
    assert log_count(node, "event=primary_alone") == 1
    node.kill()
    world.tables.reconnect()
    pair.rejoin()


def test_cluster_agrees_on_one(make_world, pair, zookeeper):
    world = make_world(pair, zookeeper=zookeeper)
    link = Proxy(zookeeper.port)
    backwards = pair.jdbc_url(world.tables.database, ports=[server.port for server in reversed(pair.hosts)])
    nodes = [world.node("node-a"), world.node("node-b", {
        "spring.datasource.url": backwards, "shardwheel.zookeeper.servers": f"127.0.0.1:{link.port}",
    })]
    executor = world.executor()
    job = world.tables.add_job(world.group(executor))
    executor.wait_runs(job)
    for node in nodes:
        assert gauge(node, "host") == place(pair, pair.primary, reverse=node is nodes[1])
        assert gauge(node, "generation") == 1

    # Both follow, whatever the order of their lists.
    promoted = fail_over(pair)
    for node in nodes:
        wait_gauge(node, "host", place(pair, pair.primary, reverse=node is nodes[1]))
        assert gauge(node, "generation") == 2
    wait_fire(world, executor, job, int(time.time()))
    print(f"cluster: fires {time.monotonic() - promoted:.1f} s after the promotion")
    for node in nodes:
        node.wait_healthy()

    # The old one comes back, and takes writes.
    pair.replica.launch()
    pair.replica.wait_up().writable()
    for node in nodes:
        wait_gauge(node, "second_writable", 1)
        assert log_count(node, "event=second_primary") == 1
        assert gauge(node, "host") == place(pair, pair.primary, reverse=node is nodes[1])
    assert pair.replica.ask(f"SELECT generation FROM {world.tables.database}.shardwheel_primary")["generation"] == 1

    # A node that does not see ZooKeeper writes nothing for long; the other one goes on.
    link.cut()
    wait_gauge(nodes[1], "host", 0)
    answer = nodes[1].get("/actuator/health")
    assert answer.status == 503 and "the nodes have not agreed on a database server" in answer.text
    assert gauge(nodes[0], "generation") == 2
    link.heal()
    nodes[1].wait_healthy(30)
    assert gauge(nodes[1], "generation") == 2

    # One that stood still for longer than it may go on without word of ZooKeeper asks there first.
    ended = log_count(nodes[1], "event=primary_session_ended")
    nodes[1].pause()
    time.sleep(SESSION_TIMEOUT_S - 0.5)
    nodes[1].resume()
    wait_until(lambda: log_count(nodes[1], "event=primary_session_ended") > ended, 20, "a new session with ZooKeeper")
    nodes[1].wait_healthy(30)
    assert gauge(nodes[1], "generation") == 2

    # A node that starts now goes to the second of its list.
    nodes[0].kill()
    nodes[0].start(30)
    assert gauge(nodes[0], "host") == place(pair, pair.primary)
    assert gauge(nodes[0], "generation") == 2
    link.close()
    world.tables.reconnect()
