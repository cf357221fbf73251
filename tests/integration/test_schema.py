# SPDX-License-Identifier: MIT
"""Fresh databases, databases without our tables, and install-schema."""
import os
import re

import pytest

import schemas
from harness.node import ROOT, options, run_shardwheel
from harness.process import free_ports

PASSWORD_IS = "with the password '"


def columns(tables):
    rows = tables.rows(
        "SELECT table_name AS t, column_name AS c, column_type AS y, is_nullable AS n, column_default AS d, extra AS e"
        " FROM information_schema.columns WHERE table_schema = %s ORDER BY table_name, ordinal_position",
        (tables.database,),
    )
    return [tuple(row.values()) for row in rows]


def table_names(tables):
    return {row[0] for row in columns(tables)}


def install(world, *more):
    return run_shardwheel(["install-schema", *options(world.keys()), *more])


@pytest.mark.asan
@pytest.mark.parametrize("server", ["mariadb", "mysql8"])
def test_empty_database_gets_all_tables_and_one_random_password(request, make_world, zookeeper, server):
    world = make_world(request.getfixturevalue(server), zookeeper=zookeeper, create=False)

    node = world.node()

    tables = world.tables
    assert {"xxl_job_info", "xxl_job_log", "xxl_job_lock",
            "shardwheel_shard", "shardwheel_cursor"} <= table_names(tables)
    assert tables.rows("SELECT 1 FROM xxl_job_lock WHERE lock_name = 'schedule_lock'")
    user = tables.rows("SELECT * FROM xxl_job_user")
    assert [row["username"] for row in user] == ["admin"]
    default = schemas.seed_sql("2.3")[1], schemas.seed_sql("3.4")[1]
    assert not any(user[0]["password"] in text for text in default), "the password is the well-known one"
    assert PASSWORD_IS in node.log_text()
    assert user[0]["password"] not in node.log_text(), "the stored hash is in the log"

    executor = world.executor()
    job = tables.add_job(world.group(executor))
    executor.wait_runs(job)
    again = world.node("node-b")
    assert tables.rows("SELECT * FROM xxl_job_user") == user
    assert PASSWORD_IS not in again.log_text()


@pytest.mark.parametrize("family", schemas.FAMILIES)
def test_database_of_the_java_admin_gets_our_tables_only(make_world, mariadb, family):
    world = make_world(mariadb, family=family)
    before = columns(world.tables)

    done = install(world)

    assert done.returncode == 0, done.stderr
    after = columns(world.tables)
    assert [row for row in after if not row[0].startswith("shardwheel_")] == before
    added = {row[0] for row in after} - {row[0] for row in before}
    assert {"shardwheel_shard", "shardwheel_cursor"} <= added
    for name in added:
        assert name in done.stdout + done.stderr, f"it does not say that it made {name}"
    assert world.tables.value("SELECT COUNT(*) FROM xxl_job_user") == 1


@pytest.mark.asan
def test_install_schema_twice_does_nothing_the_second_time(make_world, mariadb):
    world = make_world(mariadb, create=False)

    first = install(world)
    after_first = columns(world.tables)
    users = world.tables.rows("SELECT * FROM xxl_job_user")
    second = install(world)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "xxl_job_info" in first.stdout + first.stderr
    assert columns(world.tables) == after_first
    assert world.tables.rows("SELECT * FROM xxl_job_user") == users
    assert "nothing" in (second.stdout + second.stderr).lower()


def test_install_schema_adds_what_is_missing_of_ours(make_world, mariadb):
    world = make_world(mariadb)
    install(world)
    whole = columns(world.tables)
    world.tables.execute("DROP TABLE shardwheel_cursor")
    world.tables.execute("DELETE FROM xxl_job_lock")

    assert install(world).returncode == 0

    assert columns(world.tables) == whole
    assert world.tables.value("SELECT COUNT(*) FROM xxl_job_lock WHERE lock_name = 'schedule_lock'") == 1


def test_without_auto_a_missing_table_is_an_error(make_world, mariadb):
    world = make_world(mariadb)
    before = columns(world.tables)

    done = run_shardwheel(options({"server.port": free_ports(), **world.keys(), "shardwheel.schema.auto": "off"}))

    assert 0 < done.returncode < 86, done.stderr
    assert "shardwheel.schema.auto" in done.stderr and "install-schema" in done.stderr
    assert columns(world.tables) == before


def test_tables_of_a_generation_before_2_3_are_refused(make_world, mariadb):
    world = make_world(mariadb, family="2.3")
    world.tables.execute("ALTER TABLE xxl_job_info DROP COLUMN schedule_type, ADD COLUMN job_cron varchar(128)")
    before = columns(world.tables)

    done = run_shardwheel(options({"server.port": free_ports(), **world.keys()}))

    assert 0 < done.returncode < 86, done.stderr
    assert "schedule_type" in done.stderr or "2.3" in done.stderr
    assert columns(world.tables) == before


# Versions of the tables of ours


def make_version_2(world):
    """The tables of the release before, with their four shards."""
    with open(os.path.join(ROOT, "tests", "unit", "store", "tables_2.sql"), encoding="utf-8") as text:
        for statement in re.findall(r"^CREATE.*?;$", text.read(), re.DOTALL | re.MULTILINE):
            world.tables.execute(statement.replace("%", "%%"))
    world.tables.execute("INSERT INTO shardwheel_cluster (id, shards) VALUES (1, 4)")
    world.tables.execute("INSERT INTO shardwheel_schema (id, version) VALUES (1, 2)")
    for shard in range(4):
        world.tables.execute("INSERT INTO shardwheel_shard (shard, epoch, owner) VALUES (%s, 7, 'old')", (shard,))
        world.tables.execute("INSERT INTO shardwheel_cursor VALUES (%s, 7, UNIX_TIMESTAMP())", (shard,))


@pytest.mark.asan
@pytest.mark.parametrize("server", ["mariadb", "mysql8"])
def test_tables_of_the_release_before_are_upgraded_by_a_start(request, make_world, server):
    world = make_world(request.getfixturevalue(server))
    original = columns(world.tables)
    make_version_2(world)
    before = columns(world.tables)

    node = world.node()

    after = columns(world.tables)
    assert set(before) <= set(after), "a column has changed"
    assert [row for row in after if not row[0].startswith("shardwheel_")] == original
    assert world.tables.value("SELECT version FROM shardwheel_schema") == 3
    assert world.tables.rows("SELECT shards, zone_database, zone_cron FROM shardwheel_cluster") == [
        {"shards": 4, "zone_database": "UTC", "zone_cron": "UTC"}]
    assert "added column shardwheel_node.flows" in node.log_text()
    executor = world.executor()
    job = world.tables.add_job(world.group(executor))
    executor.wait_runs(job)


def test_without_auto_older_tables_are_an_error(world):
    make_version_2(world)
    before = columns(world.tables)

    done = run_shardwheel(options({"server.port": free_ports(), **world.keys(), "shardwheel.schema.auto": "off"}))

    assert done.returncode == 1 and "has older shardwheel tables" in done.stderr and "install-schema" in done.stderr
    assert columns(world.tables) == before
    # What only shows goes on, what needs the new columns says so.
    assert world.ctl("shards").returncode == 0
    refused = world.ctl("set-zone", "cron", "UTC")
    assert refused.returncode == 1 and "install-schema" in refused.stderr


def test_tables_two_releases_ahead_are_refused(world):
    install(world)
    world.tables.execute("UPDATE shardwheel_schema SET version = version + 2")
    before = columns(world.tables)

    for arguments in (options({"server.port": free_ports(), **world.keys()}),
                      ["install-schema", *options(world.keys())],
                      ["ctl", "nodes", *options(world.keys())]):
        done = run_shardwheel(arguments)
        assert done.returncode == 1, done.stderr
        assert "have version 5, and this release supports versions up to 4" in done.stderr
    assert columns(world.tables) == before

    world.tables.execute("UPDATE shardwheel_schema SET version = version - 1")
    assert world.node().is_healthy()
    assert world.tables.value("SELECT version FROM shardwheel_schema") == 4
