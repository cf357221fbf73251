# SPDX-License-Identifier: MIT
"""Changes that people make to a running cluster: another number of shards, and Java admins on the same database."""
import contextlib
import subprocess

import pymysql

from harness.java_admin import JavaAdmin
from harness.node import binary, environment, options

from .scenarios import fault
from .stage import SHARDS

DRAIN_S = 60  # for what a Java admin has planned, 5 s ahead or more when it is slow


def _reshard(stage, shards):
    done = subprocess.run(
        [binary(), "ctl", "reshard", str(shards), *options(stage.world.keys())],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, env=environment(),
    )
    assert done.returncode == 0, f"shardwheelctl reshard {shards} ended with status {done.returncode}:\n{done.stdout}"


@fault(hurts="nothing", seconds=(0, 2), alone=True)
def resharded(stage, rng):
    """Another number of shards, and back, while all nodes run."""
    _reshard(stage, rng.choice((1, 3, 5, 13, 16, 24)))
    yield
    _reshard(stage, SHARDS)


@fault(hurts="nothing", seconds=(4, 7), alone=True, leaves_unknown=True)
def resharded_while_killed(stage, rng):
    """A node dies while the cluster goes over to another number of shards."""
    node = stage.pick(rng)
    change = subprocess.Popen(
        [binary(), "ctl", "reshard", str(rng.choice((3, 5, 13))), *options(stage.world.keys())],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
    )
    stage.pass_time(rng.uniform(0, 7))
    node.kill()
    yield
    assert change.wait(90) == 0, "the change did not come to an end"
    node.start()
    _reshard(stage, SHARDS)


def _beside_java(stage, rng):
    admins = [JavaAdmin(stage.world, version, drain_s=DRAIN_S).start() for version in ("2.4.2", "3.3.2")]
    yield
    for admin in admins:
        admin.stop(DRAIN_S + 30)  # what they have planned and not sent dies with them
        stage.excused |= admin.taken()


def _kill_guards(stage):
    connections = [row["connection"] for row in
                   stage.rows("SELECT connection FROM shardwheel_guard WHERE connection <> 0")]
    with stage.database.root() as root, root.cursor() as cursor:
        for connection in connections:
            with contextlib.suppress(pymysql.err.OperationalError):  # it may have gone meanwhile
                cursor.execute(f"KILL CONNECTION {connection}")


@fault(hurts="nothing", seconds=(1, 6), alone=True, leaves_unknown=True, around=_beside_java)
def java_admins_beside(stage, rng):
    """
    Two Java admins want to plan: the guards are cut, or all nodes stop or die and come back. What they have planned is
    theirs: on a slow machine, or at a high rate, they lose some of it, as the original does.
    """
    kind = rng.choice(("guards", "guards", "stopped", "killed"))
    if kind == "guards":
        _kill_guards(stage)
        yield
        return
    for node in stage.nodes:
        node.terminate(90) if kind == "stopped" else node.kill()
    yield
    for node in stage.nodes:
        node.start(None)
