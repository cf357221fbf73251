# SPDX-License-Identifier: MIT
"""Faults of a Galera cluster of three, at whose first member all nodes are."""
import time

from harness.galera import start_galera

from .scenarios import fault
from .stage import Stage

BACK_S = 5 + 5  # promised are 5 s; the machine is shared
GALERA_SCENARIOS = {}


class GaleraStage(Stage):
    """`database` is the member in use."""

    def start_database(self, template, options):
        self.galera = start_galera(template, options, may_all=False)
        return self.galera.members[0]

    def close(self):
        try:
            super().close()
        finally:
            self.galera.remove()


def _galera_fault(**how):
    return fault(hurts="database", alone=True, table=GALERA_SCENARIOS, **how)


@_galera_fault(seconds=(0.5, 5))
def galera_member_in_use_killed(stage, rng):
    """kill -9 of the member that the nodes are at; it comes back and gets what it lacks from another one."""
    stage.database.process.kill()
    yield
    stage.database.start()
    stage.measure_back(time.time(), BACK_S)


# A commit that waits for the others when these are cut off is carried out when they are back: see database_stopped.
@_galera_fault(seconds=(3, 8), leaves_unknown=True)
def galera_member_in_use_cut_off(stage, rng):
    """It hears nothing of the other two, and is no primary component any more."""
    stage.database.isolate()
    yield
    stage.database.isolate(False)
    stage.galera.wait_size(3)
    stage.measure_back(time.time(), BACK_S)


@_galera_fault(seconds=(2, 5), leaves_unknown=True, by_hand=True)
def galera_other_member_killed(stage, rng):
    """kill -9 of another one: nobody commits until the rest takes it for gone."""
    member = rng.choice(stage.galera.members[1:])
    member.process.kill()
    yield
    member.start()
    stage.measure_back(time.time(), BACK_S)


@_galera_fault(seconds=(3, 8), by_hand=True)
def galera_donor_desynced(stage, rng):
    """Another one leaves flow control and takes a lock of all tables, as for a backup: nobody notices."""
    member = rng.choice(stage.galera.members[1:])
    member.desync()
    with member.root() as root, root.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        with stage.late_at_most(1000):
            yield
        cursor.execute("UNLOCK TABLES")
    member.desync(False)
    member.wait_synced()


# A global read lock would take the member out of flow control by itself.
@_galera_fault(seconds=(3, 8), leaves_unknown=True, by_hand=True)
def galera_flow_control(stage, rng):
    """Another one applies nothing and stays in flow control: all of them wait for it."""
    member = rng.choice(stage.galera.members[1:])
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
    for member in stage.galera.members:
        assert member.process.terminate(60) == 0, member.process.tail()
        member.start()
        stage.galera.wait_size(3)
    yield
    stage.measure_back(time.time(), BACK_S)
