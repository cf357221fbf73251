# SPDX-License-Identifier: MIT
"""What cannot work ends with a sentence that says why, and an exit status that is not 0."""
import socket

import pytest

from harness.node import options, run_shardwheel
from harness.process import free_ports


WRONG_SETTINGS = 78  # EX_CONFIG: a service manager shall not try again, see the unit
FAILED = 1


def refused(keys, *words, command=(), absent=(), status=FAILED):
    """Runs a node that must give up; its stderr holds the words, and never the ones in absent."""
    done = run_shardwheel(list(command) + options(keys))
    assert done.returncode == status, f"status {done.returncode}\n{done.stderr}"
    for word in words:
        assert str(word).lower() in done.stderr.lower(), f"'{word}' is not in:\n{done.stderr}"
    for word in absent:
        assert word not in done.stderr + done.stdout, f"'{word}' must not be in:\n{done.stderr}"
    return done.stderr


@pytest.fixture
def keys(cluster):
    return {"server.port": free_ports(), **cluster.keys()}


@pytest.mark.asan
def test_wrong_password(keys):
    absent = ["wr0ng-pw", "candidate", "agreed on"]  # there is one server only
    refused({**keys, "spring.datasource.password": "wr0ng-pw"}, "shardwheel", "denied", absent=absent)


@pytest.mark.asan
def test_absent_database(keys, mariadb):
    refused({**keys, "spring.datasource.url": mariadb.jdbc_url("no_such_db")}, "no_such_db")


def test_absent_database_server(keys):
    port = free_ports()
    refused({**keys, "spring.datasource.url": f"jdbc:mysql://127.0.0.1:{port}/jobs"}, port)


@pytest.mark.asan
def test_absent_zookeeper(keys):
    servers = f"127.0.0.1:{free_ports()}"
    refused({**keys, "shardwheel.zookeeper.servers": servers}, "zookeeper", servers)


@pytest.mark.parametrize("server", ["mariadb", "mysql8"])
def test_wrong_password_on_either_server(request, make_world, server):
    world = make_world(request.getfixturevalue(server))
    keys = {"server.port": free_ports(), **world.keys(), "spring.datasource.password": "wr0ng-pw"}
    refused(keys, "denied", absent=["wr0ng-pw"])


@pytest.mark.asan
def test_other_number_of_shards_gives_way_to_that_of_the_cluster(cluster):
    cluster.node(keys={"shardwheel.shards": 8})
    cluster.tables.wait_owners([8])

    other = cluster.node("node-b", {"shardwheel.shards": 5})

    cluster.tables.wait_owners([4, 4])
    assert "event=shards_differ configured=5 cluster=8" in other.log_text()
    assert cluster.tables.value("SELECT COUNT(*) FROM shardwheel_shard") == 8


@pytest.mark.asan
def test_port_in_use(keys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused({**keys, "server.port": port}, port)


@pytest.mark.asan
def test_unknown_key_in_a_file_is_named_with_its_place(keys, tmp_path):
    path = tmp_path / "nodes.properties"
    path.write_text("# a comment\nserver.port=8080\nshardwheel.shrads=8\n")

    refused(keys, f"{path}:3", "shardwheel.shrads", command=["--config", path], status=WRONG_SETTINGS)


def test_bad_value_in_a_file_is_named_with_what_was_expected(keys, tmp_path):
    path = tmp_path / "nodes.properties"
    path.write_text("\nshardwheel.shards=many\n")
    del keys["server.port"]

    refused(keys, f"{path}:2", "shardwheel.shards", "many", command=["--config", path], status=WRONG_SETTINGS)


def test_unknown_key_on_the_command_line(keys):
    refused({**keys, "shardwheel.shrads": 8}, "shardwheel.shrads", status=WRONG_SETTINGS)


def test_absent_file(keys):
    refused(keys, "/no/such/file.properties", command=["--config", "/no/such/file.properties"])


def test_unwritable_data_folder(keys):
    refused({"server.port": keys["server.port"]}, "/proc/no", command=["standalone", "--data", "/proc/no/such"])


def test_properties_of_the_java_admin_are_taken_as_they_are(cluster, tmp_path):
    port = free_ports()
    path = tmp_path / "application.properties"
    keys = cluster.keys()
    url = keys.pop("spring.datasource.url")
    keys.update({
        "server.port": port, "server.servlet.context-path": "/xxl-job-admin",
        "management.server.base-path": "/actuator",
        "management.health.mail.enabled": "false", "spring.mvc.servlet.load-on-startup": 0,
        "mybatis.mapper-locations": "classpath:/mybatis-mapper/*Mapper.xml",
        "spring.datasource.url": url.replace("=", r"\=").replace(":", r"\:"),
        "spring.datasource.driver-class-name": "com.mysql.cj.jdbc.Driver",
        "spring.datasource.type": "com.zaxxer.hikari.HikariDataSource", "spring.datasource.hikari.minimum-idle": 10,
        "spring.mail.host": "smtp.example.org", "xxl.job.timeout": 3, "xxl.job.i18n": "zh_CN",
        "xxl.job.triggerpool.fast.max": 200, "xxl.job.triggerpool.slow.max": 100, "xxl.job.logretentiondays": 30,
    })
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()), encoding="utf-8")
    executor = cluster.executor()
    job = cluster.tables.add_job(cluster.group(executor))

    node = cluster.node_from_file(path, port)

    executor.wait_runs(job)
    assert node.get("/xxl-job-admin/actuator/health").status == 200


def test_all_keys_without_meaning_are_named_once(keys, tmp_path):
    """A file that Spring would take, of any length, is no error: it is the database here."""
    file = tmp_path / "application.properties"
    names = [f"spring.some.library.of.the.original.setting-{n}" for n in range(150)]
    names += ["server.ssl.protocol", "info.app.name"]
    file.write_text("".join(f"{name}=false\n" for name in names))
    keys = {**keys, "spring.datasource.url": "jdbc:mysql://127.0.0.1:1/nowhere", "spring.config.import": "x"}

    stderr = refused(keys, "127.0.0.1", command=["--config", str(file)])

    for name in names:
        assert stderr.count(f"{name} (") == 1, f"{name} is named {stderr.count(name)} times"
    assert stderr.count('spring.config.import (command line): \\"x\\" is not imported') == 1


def test_a_standalone_node_beside_a_cluster_is_refused(cluster):
    """Whichever comes second: they would take each other's shards again and again."""
    first = cluster.node("node-a")
    alone = {**cluster.keys(), "server.port": free_ports(), "shardwheel.coordination": "standalone"}

    refused(alone, "node node-a uses this database", "shardwheel.zookeeper.servers")

    assert cluster.tables.value("SELECT MAX(epoch) FROM shardwheel_shard") == 1
    assert first.terminate(20) == 0
    cluster.node("alone", {"shardwheel.coordination": "standalone"})
    refused({**cluster.keys(), "server.port": free_ports()}, "a standalone node uses this database")
    assert cluster.tables.owners() == {"alone": 8}
