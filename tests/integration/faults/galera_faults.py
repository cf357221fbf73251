# SPDX-License-Identifier: MIT
"""Faults of a Galera cluster of three, of which the nodes use one member at a time."""
import time

from harness.galera import start_galera
from harness.process import wait_until

from .scenarios import fault
from .stage import NODES, Stage

BACK_S = 5 + 5  # promised are 5 s; the machine is shared
GALERA_SCENARIOS = {}


class GaleraStage(Stage):
    """Each node lists all three members, the first node in another order. `database` is the member in use."""

    def start_database(self, template, options):
        self.galera = start_galera(template, options, may_all=False)
        return self.galera.members[0]

    def node_keys(self, name, keys=None):
        ports = [member.port for member in self.galera.members]
        url = self.database.jdbc_url(self.world.tables.database, port="PORTS")
        listed = ",127.0.0.1:".join(str(port) for port in (ports if name == NODES[0] else ports[::-1]))
        return super().node_keys(name, {"spring.datasource.url": url.replace("PORTS", listed), **(keys or {})})

    def others(self):
        return [member for member in self.galera.members if member is not self.database]

    def look_at(self, member):
        """What is asked and added by the tests goes there from now on."""
        self.database = self.world.server = self.world.tables.server = member
        self.world.tables.reconnect()

    def measure_moved(self, left, since_s):
        """Until all nodes are at one of the others, as agreed, and planning and cursors are at present."""
        self.look_at(self.others()[0])

        def row():
            name = self.value("SELECT server FROM shardwheel_primary WHERE id = 1") or ""
            used = [member for member in self.galera.members if f":{member.port}#" in name]
            return used and used[0] is not left and used

        used = wait_until(row, 30, f"the nodes to leave {left.name}")
        self.look_at(used[0])
        self.measure_back(since_s, BACK_S)

    def close(self):
        try:
            super().close()
        finally:
            self.galera.remove()


def _galera_fault(**how):
    return fault(hurts="database", alone=True, table=GALERA_SCENARIOS, **how)


@_galera_fault(seconds=(0.5, 3))
def galera_member_in_use_killed(stage, rng):
    """kill -9 of the member in use: the nodes go on at another one, and stay there when it is back."""
    left = stage.database
    killed_s = time.time()
    left.process.kill()
    stage.measure_moved(left, killed_s)
    yield
    left.start()
    stage.galera.wait_size(3)


# What it had confirmed to nobody yet is carried out nowhere, and nobody knows at first.
@_galera_fault(seconds=(1, 4), leaves_unknown=True)
def galera_member_in_use_cut_off(stage, rng):
    """It hears nothing of the other two, and is no primary component any more: the nodes go on at another one."""
    left = stage.database
    cut_s = time.time()
    left.isolate()
    stage.measure_moved(left, cut_s)
    yield
    left.isolate(False)
    stage.galera.wait_size(3)


@_galera_fault(seconds=(2, 5), leaves_unknown=True, by_hand=True)
def galera_other_member_killed(stage, rng):
    """kill -9 of another one: nobody commits until the rest takes it for gone."""
    member = rng.choice(stage.others())
    member.process.kill()
    yield
    member.start()
    stage.measure_back(time.time(), BACK_S)


@_galera_fault(seconds=(3, 8), by_hand=True)
def galera_donor_desynced(stage, rng):
    """Another one leaves flow control and takes a lock of all tables, as for a backup: nobody notices."""
    member = rng.choice(stage.others())
    member.desync()
    with member.root() as root, root.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        with stage.late_at_most(1000):
            yield
        cursor.execute("UNLOCK TABLES")
    member.desync(False)
    member.wait_synced()


# A global read lock would take the member out of flow control by itself.
@_galera_fault(seconds=(3, 8), by_hand=True)
def galera_flow_control(stage, rng):
    """Another one applies nothing and stays in flow control: all of them wait for it."""
    member = rng.choice(stage.others())
    member.set_global("wsrep_provider_options = 'gcs.fc_limit=2'")
    before = int(member.status("wsrep_flow_control_sent"))
    with member.connect(stage.world.tables.database) as connection, connection.cursor() as cursor:
        cursor.execute("LOCK TABLES shardwheel_cursor READ")
        yield
        paused = int(member.status("wsrep_flow_control_sent")) - before
        cursor.execute("UNLOCK TABLES")
    member.set_global("wsrep_provider_options = 'gcs.fc_limit=16'")
    assert paused, "the member held nobody up"
    stage.measure_back(time.time(), BACK_S)


@_galera_fault(seconds=(0, 1), leaves_unknown=True, by_hand=True)
def galera_rolling_restart(stage, rng):
    """All three, one after the other, as for an update."""
    for member in list(stage.galera.members):
        stopped_s = time.time()
        in_use = member is stage.database
        assert member.process.terminate(60) == 0, member.process.tail()
        if in_use:
            stage.measure_moved(member, stopped_s)
        member.start()
        stage.galera.wait_size(3)
    yield
    stage.measure_back(time.time(), BACK_S)
