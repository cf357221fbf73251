# SPDX-License-Identifier: MIT
"""Failover between two servers of which one replicates from the other."""
import time

from harness.haproxy import start_haproxy
from harness.pair import start_pair
from harness.process import wait_until

from .moving import restart_with
from .scenarios import fault
from .stage import NODES, Stage

BACK_S = 5 + 5  # promised are 5 s; the machine is shared
PAIR_SCENARIOS = {}


class PairStage(Stage):
    """Each node lists both servers, the first node in another order than the others."""

    haproxy = None

    def start_database(self, template, options):
        self.pair = start_pair(template, options=options)
        return self.pair

    def node_keys(self, name, keys=None):
        ports = [server.port for server in self.pair.hosts]
        own = self.pair.jdbc_url(self.world.tables.database, ports=ports if name == NODES[0] else ports[::-1])
        return super().node_keys(name, {"spring.datasource.url": own, **(keys or {})})

    def promote(self):
        """The replica becomes the primary, and is asked from now on; the moment."""
        self.pair.promote()
        self.world.tables.reconnect()
        return time.time()

    def measure_followed(self, since_s):
        """Until the primary has a row of its own, as the agreed server, and planning and cursors are at present."""
        name = f":{self.pair.primary.port}"
        wait_until(lambda: name in self.value("SELECT server FROM shardwheel_primary"), 30, "a row of the new primary")
        self.measure_back(since_s, BACK_S)

    def close(self):
        try:
            super().close()
        finally:
            self.pair.remove()
            if self.haproxy:
                self.haproxy.remove()


def _pair_fault(**how):
    return fault(hurts="database", alone=True, table=PAIR_SCENARIOS, leaves_unknown=True, **how)


def _rows(server, stage):
    return server.ask(f"SELECT COUNT(*) AS count FROM {stage.world.tables.database}.xxl_job_log")["count"]


def _watch_second_writer(stage, seconds):
    """The old primary comes back and takes writes, as when nobody has told it: no node writes there."""
    old = stage.pair.replica
    old.launch()
    old.wait_up()
    before = _rows(old, stage)
    old.writable()
    for node in stage.nodes:
        wait_until(lambda: node.metrics()["shardwheel_db_second_writable"] == 1, 20, f"{node.name} to see two writers")
    stage.pass_time(seconds)
    after = _rows(old, stage)
    assert after == before, f"{after - before} rows were written on a server that is not the agreed one"
    old.stop()


@_pair_fault(seconds=(0.2, 3))
def pair_primary_killed(stage, rng):
    """kill -9 of the primary, the other one is promoted; the old one takes writes for a while, then replicates."""
    stage.pair.primary.stop()
    yield
    stage.measure_followed(stage.promote())
    _watch_second_writer(stage, rng.uniform(0, 1.5))
    stage.pair.rejoin()


@_pair_fault(seconds=(0, 1))
def pair_switched_over(stage, rng):
    """As planned: read-only, all of it at the replica, the other way round."""
    stage.pair.switch_over()
    switched_s = time.time()
    stage.world.tables.reconnect()
    yield
    stage.measure_followed(switched_s)


def _asynchronous(stage, rng):
    stage.pair.set_semi_sync(False)
    yield
    stage.pair.set_semi_sync(True)


@_pair_fault(seconds=(2, 8), around=_asynchronous)
def pair_loses_commits(stage, rng):
    """The replica gets nothing for some seconds, then the primary dies and the replica is promoted; the nodes stay."""
    stage.pair.stop_sending()
    yield
    lost = _rows(stage.pair.primary, stage) - _rows(stage.pair.replica, stage)
    stage.pair.primary.stop()
    assert lost > 0, "no commit was lost"
    stage.measure_followed(stage.promote())
    stage.pair.rejoin()


def _behind_haproxy(stage, rng):
    """The nodes stay behind it: this is the last scenario of the stage."""
    stage.haproxy = start_haproxy([server.port for server in stage.pair.hosts])
    stage.haproxy.choose(stage.pair.primary.port)
    one = stage.pair.jdbc_url(stage.world.tables.database, port=stage.haproxy.port)
    restart_with(stage, {node.name: {"spring.datasource.url": one} for node in stage.nodes})
    stage.wait_whole()
    yield


@_pair_fault(seconds=(0.2, 2), around=_behind_haproxy)
def pair_behind_haproxy_switched(stage, rng):
    """One address, which leads to the other server from now on: killed or as planned."""
    killed = rng.random() < 0.5
    stage.haproxy.choose(None)
    if killed:
        stage.pair.primary.stop()
    yield
    if killed:
        stage.promote()
    else:
        stage.pair.switch_over()
        stage.world.tables.reconnect()
    stage.haproxy.choose(stage.pair.primary.port)
    stage.measure_followed(time.time())
    if killed:
        stage.pair.rejoin()
