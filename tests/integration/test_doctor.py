# SPDX-License-Identifier: MIT
"""shardwheelctl doctor on a set-up that is well, and on that one broken in one place at a time."""
import contextlib
import http.server
import itertools
import shutil
import threading

import pytest
import schemas
from kazoo.security import make_acl

from harness import databases
from harness.cluster import World
from harness.doctor import examine
from harness.node import options, run_shardwheel
from harness.process import free_ports, wait_until
from harness.proxy import Proxy
from harness.zookeeper import ZooKeeperServer


@pytest.fixture(scope="module")
def server(mariadb_template):
    """A server that keeps every commit, as those in production should."""
    server = databases.start_mariadb(mariadb_template, [
        "--innodb-flush-log-at-trx-commit=1", "--log-bin=bin", "--sync-binlog=1", "--binlog-format=ROW"], may_all=False)
    yield server
    server.stop()
    shutil.rmtree(server.folder)


class OwnSecrets(World):
    """Without a token or password that everybody knows."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.tables.execute("UPDATE xxl_job_user SET password = SHA2('no one knows it', 256)")

    def keys(self):
        return {**super().keys(), "xxl.job.accessToken": "a-token-of-its-own"}


@pytest.fixture(scope="module")
def well(server, tmp_path_factory, zookeeper):
    """A world with one node and rows of its fires, which every test leaves as well as it found it."""
    world = OwnSecrets(server, tmp_path_factory.mktemp("world"), zookeeper=zookeeper)
    world.node()
    world.tables.wait_owners([8])
    executor = world.executor()
    executor.wait_runs(world.tables.add_job(world.group(executor)))
    world.tables.execute("UPDATE xxl_job_info SET trigger_status = 0")  # nobody tells how its runs end
    world.tables.execute("UPDATE xxl_job_group SET address_list = NULL")
    world.tables.execute("UPDATE shardwheel_node SET started_ms = started_ms - 600000")  # it has run for a while
    yield world
    world.close()


@pytest.fixture
def bare(server, tmp_path_factory):
    """A world with all tables, and no node on it."""
    world = OwnSecrets(server, tmp_path_factory.mktemp("world"))
    assert run_shardwheel(["install-schema", *options(world.keys())]).returncode == 0
    yield world
    world.close()


@contextlib.contextmanager
def setting(server, name, value):
    """A global setting of the server, for a while."""
    with server.root() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT @@global.{name}")
        before = cursor.fetchone()[0]
        cursor.execute(f"SET GLOBAL {name} = %s", (value,))
        try:
            yield
        finally:
            cursor.execute(f"SET GLOBAL {name} = %s", (before,))


@contextlib.contextmanager
def rows(world, do, undo):
    """Statements for a while."""
    try:
        for statement in do:
            world.tables.execute(statement)
        yield
    finally:
        for statement in undo:
            world.tables.execute(statement)


@pytest.mark.asan
def test_a_set_up_that_is_well(well):
    seen = examine(well)
    assert seen.above("note") == []
    assert seen.status == 0 and not seen.answer["leftOut"]
    assert {f["code"] for f in seen.findings} >= {"database", "tables"}

    text = run_shardwheel(["ctl", "doctor", *options(well.keys())])
    assert text.returncode == 0 and not text.stderr
    assert "checks were fine; --verbose lists them." in text.stdout and "can be reached" not in text.stdout
    text = run_shardwheel(["ctl", "doctor", "--verbose", *options(well.keys())])
    assert "The database can be reached." in text.stdout


@pytest.mark.asan
def test_a_database_that_is_away_and_settings_that_are_wrong(well, server):
    """It answers within its time, says what it could not look at, and never ends with a status of another meaning."""
    url = server.jdbc_url(well.tables.database, port=free_ports())
    seen = examine(well, keys={"spring.datasource.url": url})
    assert seen.find("database_unreachable")[0]["level"] == "critical" and seen.status == 2
    assert "tables" in seen.answer["leftOut"]

    wrong = run_shardwheel(["ctl", "doctor", "--no.such.key"])
    assert wrong.returncode == 3 and "usage" in wrong.stderr
    wrong = run_shardwheel(["ctl", "doctor", "--json"])
    assert wrong.returncode == 3 and "spring.datasource.url" in wrong.stderr


@pytest.mark.asan
def test_a_database_that_hangs_holds_nothing_up(well, server):
    proxy = Proxy(server.port)
    proxy.hold()
    seen = examine(well, "--wait", "1", keys={"spring.datasource.url": server.jdbc_url(well.tables.database,
                                                                                        port=proxy.port)})
    assert seen.find("database_unreachable")[0]["level"] == "critical"
    proxy.close()


@pytest.mark.asan
def test_a_database_that_goes_away_meanwhile(well, server):
    """What was seen before stays, and nothing waits for it again and again."""
    gone = []

    def judge(data):
        gone.extend([True] if b"GROUP_CONCAT" in data else [])
        return "unsent" if gone else None

    proxy = Proxy(server.port)
    proxy.spoil(judge)
    seen = examine(well, keys={"spring.datasource.url": server.jdbc_url(well.tables.database, port=proxy.port)})
    proxy.close()
    assert {f["code"]: f["level"] for f in seen.above("note")} == {
        "could_not_look": "unknown", "database_lost": "critical"}
    assert seen.find("rights")[0]["level"] == "ok" and "zones" in seen.answer["leftOut"]
    assert seen.find("zookeeper_single"), "what needs no database was looked at all the same"


# The server's settings

SERVER = [
    ("innodb_flush_log_at_trx_commit", 2, "commits_flush", "warning", "may be sent twice"),
    ("innodb_flush_log_at_trx_commit", 0, "commits_flush", "critical", "may be sent twice"),
    ("sync_binlog", 0, "commits_binlog", "warning", "sync_binlog is 0"),
    ("sql_mode", "NO_ENGINE_SUBSTITUTION", "sql_mode_server", "warning", "STRICT_TRANS_TABLES"),
    ("tx_isolation", "SERIALIZABLE", "isolation_server", "warning", "SERIALIZABLE"),
    ("max_allowed_packet", 1048576, "packet_small", "warning", "1048576"),
    ("wait_timeout", 20, "idle_short", "warning", "20 s"),
    ("max_statement_time", 2, "statements_short", "warning", "2.0 s"),
    ("max_connections", 39, "connections_few", "warning", "can open 40"),
]


@pytest.mark.parametrize("name, value, code, level, word", SERVER)
def test_a_setting_of_the_server(well, server, name, value, code, level, word):
    with setting(server, name, value):
        examine(well).only(code, level, word)


def test_a_server_that_is_read_only(well, server):
    with setting(server, "read_only", 1):
        found = examine(well).find("server_read_only")
    assert found and found[0]["level"] == "critical"
    wait_until(lambda: not examine(well).above("note"), 20, "all to be well again")


def test_a_binlog_of_statements(well, server):
    with setting(server, "binlog_format", "STATEMENT"):
        seen = examine(well)
    assert {f["code"]: f["level"] for f in seen.above("unknown")} == {"binlog_statement": "critical"}
    assert "BINLOG_FORMAT" in seen.find("could_not_look")[0]["what"], "what was tried and refused is told as well"
    wait_until(lambda: not examine(well).above("note"), 20, "all to be well again")


def test_replicas_that_confirm_nothing(well, bare, server):
    with setting(server, "rpl_semi_sync_master_timeout", 1), setting(server, "rpl_semi_sync_master_enabled", 1), \
            setting(server, "rpl_semi_sync_master_wait_point", "AFTER_COMMIT"):
        wait_until(lambda: examine(well).find("commits_replicas"), 10, "the server to find that nobody confirms")
        seen = {f["code"]: f["level"] for f in examine(well).above("note")}
        node = bare.node("beside", {"shardwheel.java-guard": "off"})
    assert seen == dict.fromkeys(("commits_replicas", "commits_replicas_time", "commits_replicas_seen"), "warning")
    told = [line for line in node.log_text().splitlines() if "event=failover_may_lose" in line]
    assert len(told) == 2 and "rpl_semi_sync_master_timeout=1" in told[0] and "AFTER_COMMIT" in told[1], told


# The tables

TABLES = [
    (["ALTER TABLE xxl_job_log DROP INDEX I_trigger_time"],
     ["ALTER TABLE xxl_job_log ADD INDEX I_trigger_time (trigger_time)"],
     "index_missing", "warning", "(trigger_time)"),
    (["ALTER TABLE xxl_job_log ADD INDEX again (handle_code)"], ["ALTER TABLE xxl_job_log DROP INDEX again"],
     "index_double", "warning", "again and I_handle_code"),
    (["ALTER TABLE xxl_job_logglue CONVERT TO CHARACTER SET latin1"],
     ["ALTER TABLE xxl_job_logglue CONVERT TO CHARACTER SET utf8mb4"],
     "charset_narrow", "warning", "xxl_job_logglue"),
    (["INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, trigger_msg)"
      " VALUES (1, 1, UTC_TIMESTAMP() - INTERVAL 60 DAY, 200, 200, '<!--sw:d:x-->')"],
     ["DELETE FROM xxl_job_log WHERE trigger_msg = '<!--sw:d:x-->'"],
     "log_not_cleaned", "warning", "60 days old"),
    (["INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time)"
      " VALUES ('EXECUTOR', 'app', 'http://127.0.0.1:9/', UTC_TIMESTAMP() + INTERVAL 8 HOUR)"],
     ["DELETE FROM xxl_job_registry"],
     "zone_rows", "warning", "xxl_job_registry"),
    (["INSERT INTO shardwheel_takeover (shard, epoch, cursor_s, taken_ms) VALUES (1000, 1, 1, 1)"],
     ["DELETE FROM shardwheel_takeover WHERE shard = 1000"],
     "takeover_unsettled", "warning", "1 takeovers"),
    (["UPDATE shardwheel_shard SET owner = 'nobody' WHERE shard = 3"],
     ["UPDATE shardwheel_shard SET owner = 'node-a' WHERE shard = 3"],
     "shard_unowned", "critical", "run: 3."),
]


@pytest.mark.parametrize("do, undo, code, level, word", TABLES, ids=[case[2] for case in TABLES])
def test_a_table(well, do, undo, code, level, word):
    with rows(well, do, undo):
        examine(well).only(code, level, word)


def another_node(beat="+ 60000", version=None, clock_ms=0, url="http://127.0.0.1:9", name="node-b",
                 drain=1):
    """Statements that write and remove the row of a node-b. ZooKeeper need not know a node that is drained."""
    return ([
        f"INSERT INTO shardwheel_node SELECT 'bb', '{name}', '{url}',"
        f" {repr(version) if version else 'version'}, started_ms,"
        f" TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 {beat}, {clock_ms}, 0, {drain}, -1, 1"
        " FROM shardwheel_node WHERE node = 'node-a'",
    ], ["DELETE FROM shardwheel_node WHERE incarnation = 'bb'"])


def test_nodes(well):
    with rows(well, *another_node(beat="- 20000")):
        examine(well).only("node_silent", "warning", "node-b", "20 s")
    with rows(well, *another_node(beat="- 20000", name="node-a")):
        assert examine(well).find("node_killed") and not examine(well).above("note")
    with rows(well, *another_node(version="0.0.9")):
        examine(well).only("versions_differ", "warning", "0.0.9 of node-b")
    with rows(well, *another_node(clock_ms=-3000)):
        examine(well).only("clock_node", "warning", "node-b", "3.0 s behind")
    with rows(well, *another_node(clock_ms=9000)):
        examine(well).only("clock_node", "critical", "9.0 s ahead of")
    with rows(well, *another_node(drain=0)):
        examine(well).only("zookeeper_member_missing", "warning", "node-b")
    with rows(well, ["UPDATE shardwheel_node SET drain = 1"], ["UPDATE shardwheel_node SET drain = 0"]):
        found = examine(well).find("node_all_drained")
        assert found and found[0]["level"] == "critical"
    wait_until(lambda: not examine(well).above("note"), 20, "all shards to have their owner again")
    with rows(well, *another_node()):
        examine(well, keys={"shardwheel.coordination": "standalone"}).only("node_standalone", "critical", "2 nodes")


class _Health(http.server.BaseHTTPRequestHandler):
    """Answers every page with the health that the server was given."""

    def do_GET(self):
        body = self.server.health.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def page(health):
    """A URL at which a node would say this."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Health) as server:
        server.health = health
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_what_nodes_say(well):
    """With the words of a real node, changed in one place."""
    said = well.nodes[0].get("/actuator/health").text
    for old, new, code, level, word in [
        ('"deliveryUnknownResend":false', '"deliveryUnknownResend":true', "settings_differ", "warning",
         "deliveryUnknownResend is false there and true here"),
        ('"schedule":{"status":"UP"', '"schedule":{"status":"DOWN","reason":"the ring is behind"', "node_unhealthy",
         "critical", "the ring is behind"),
        ('"coordination":{"status":"UP"', '"coordination":{"status":"DEGRADED"', "node_without_coordination", "warning",
         "ZooKeeper"),
    ]:
        assert old in said
        with page(said.replace(old, new)) as url, rows(well, *another_node(url=url)):
            examine(well).only(code, level, word, "node node-b")


# What lies between


def test_zookeeper(well, zookeeper, tmp_path):
    away = f"127.0.0.1:{free_ports()}"
    seen = examine(well)
    assert seen.find("zookeeper_single") and not seen.above("note")
    seen = examine(well, "--wait", "8", keys={"shardwheel.zookeeper.servers": f"{zookeeper.servers},{away}"})
    assert {f["code"] for f in seen.above("note")} == {"zookeeper_server_away", "zookeeper_apart"}
    assert seen.find("zookeeper_server_away")[0]["where"] == f"ZooKeeper {away}"
    client = zookeeper.client()
    client.create("/locked", acl=[make_acl("world", "anyone", read=True)])
    client.stop()
    seen = examine(well, keys={"shardwheel.zookeeper.base-path": "/locked"})
    seen.only("zookeeper_refused", "critical", "create a znode", "/locked")
    slow = ZooKeeperServer(str(tmp_path), config="minSessionTimeout=8000\n").start()
    seen = examine(well, keys={"shardwheel.zookeeper.servers": slow.servers})
    slow.stop()
    assert {f["code"]: f["level"] for f in seen.above("note")} == {
        "zookeeper_timeout": "warning", "zookeeper_other": "critical"}
    assert "8000 ms" in seen.find("zookeeper_timeout")[0]["what"]
    examine(well, keys={"shardwheel.zookeeper.base-path": "/elsewhere"}).only("zookeeper_other", "critical", "node-a")
    seen = examine(well, "--wait", "2", keys={"shardwheel.zookeeper.servers": away})
    seen.only("zookeeper_unreachable", "critical", away)


class _Spread(Proxy):
    """A balancer: each connection goes to the next of some ports, over and over."""

    def __init__(self, ports):
        self.ports = itertools.cycle(ports)
        super().__init__(ports[0])

    @property
    def target_port(self):
        return next(self.ports)

    @target_port.setter
    def target_port(self, port):
        pass


def test_a_balancer_over_two_servers(well, server, own_mariadb):
    with own_mariadb.root() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {well.tables.database}")
    url = own_mariadb.jdbc_url(well.tables.database)
    assert run_shardwheel(["install-schema", *options({**well.keys(), "spring.datasource.url": url})]).returncode == 0
    proxy = _Spread([server.port] * 4 + [own_mariadb.port])
    url = server.jdbc_url(well.tables.database, port=proxy.port)
    seen = examine(well, keys={"spring.datasource.url": url})
    proxy.close()
    assert {f["code"] for f in seen.above("warning")} == {"sessions_elsewhere", "reads_behind"}
    assert str(own_mariadb.port) in seen.find("sessions_elsewhere")[0]["what"]

    # Of several hosts each is looked at.
    ports = (server.port, proxy.port)
    url = url.replace(f"127.0.0.1:{proxy.port}", ",".join(f"127.0.0.1:{port}" for port in ports))
    found = examine(well, keys={"spring.datasource.url": url})
    found.only("host_unreachable", "warning", "does not answer")
    assert found.find("host_unreachable")[0]["where"] == f"server 127.0.0.1:{proxy.port}"
    url = url.replace(str(proxy.port), str(own_mariadb.port))
    seen = examine(well, keys={"spring.datasource.url": url})
    seen.only("hosts_write", "critical", str(server.port))
    assert seen.find("host_used")[0]["where"] == f"server 127.0.0.1:{server.port}"

    # The newest row counts before the order, for shardwheelctl as well.
    both = [*options({**well.keys(), "spring.datasource.url": url})]
    assert "node-" in run_shardwheel(["ctl", "nodes", *both]).stdout
    with own_mariadb.root() as connection, connection.cursor() as cursor:
        cursor.execute(f"REPLACE INTO {well.tables.database}.shardwheel_primary (id, generation, server, node, "
                       "update_time) VALUES (1, 1000, 'elsewhere', 'node-x', NOW())")
    seen = examine(well, keys={"spring.datasource.url": url})
    assert seen.find("host_used")[0]["where"] == f"server 127.0.0.1:{own_mariadb.port}"
    assert "elsewhere" in seen.find("host_not_raised")[0]["what"]
    nodes = run_shardwheel(["ctl", "nodes", *both])
    assert nodes.returncode == 0 and "node-" not in nodes.stdout

    with setting(own_mariadb, "read_only", 1):
        seen = examine(well, keys={"spring.datasource.url": url})
        found = seen.only("host_behind", "warning", "1000", str(server.port))
        assert found["where"] == f"server 127.0.0.1:{own_mariadb.port}"


def test_zones_that_differ(well, server):
    url = server.jdbc_url(well.tables.database, zone="Asia/Shanghai")
    found = examine(well, keys={"spring.datasource.url": url})
    assert found.find("zone_database")[0]["level"] == "critical"
    examine(well, keys={"shardwheel.time-zone": "Asia/Tokyo"}).only("zone_cron", "critical", "Asia/Tokyo", "UTC")


def test_what_is_only_noted(well, server):
    """Nothing of this is wrong by itself: the status stays 0."""
    for keys, code in [({"xxl.job.logretentiondays": "-1"}, "log_kept_for_ever"),
                       ({"shardwheel.java-guard": "off"}, "guard_off"), ({"shardwheel.shards": "4"}, "shards_differ")]:
        seen = examine(well, keys=keys)
        seen.only(code, "note")
        assert seen.status == 0
    url = server.jdbc_url(well.tables.database).replace("&serverTimezone=UTC", "")
    examine(well, keys={"spring.datasource.url": url}).only("zone_unnamed", "note")
    with setting(server, "auto_increment_increment", 2):
        examine(well).only("several_primaries", "note")
    with rows(well, ["ALTER TABLE xxl_job_logglue CONVERT TO CHARACTER SET utf8mb3"],
              ["ALTER TABLE xxl_job_logglue CONVERT TO CHARACTER SET utf8mb4"]):
        examine(well).only("charset_old", "note", "xxl_job_logglue")


def test_rights_that_are_missing(well, server):
    with server.root() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER reader@'%' IDENTIFIED BY 'secret'")
        cursor.execute(f"GRANT SELECT ON `{well.tables.database}`.* TO reader@'%'")
    seen = examine(well, keys={"spring.datasource.username": "reader", "spring.datasource.password": "secret"})
    seen.only("rights_missing", "critical", "reader", "INSERT on shardwheel_alarm", "more")


# Databases on which no node of this test runs


def test_a_database_without_nodes_that_a_java_admin_plans_on(bare):
    bare.tables.execute("DELETE FROM xxl_job_lock")
    bare.tables.execute(
        "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, trigger_msg)"
        " VALUES (1, 1, UTC_TIMESTAMP() - INTERVAL 1 MINUTE, 200, 200, 'Cron')")
    seen = examine(bare)
    assert {f["code"] for f in seen.above("note")} == {"node_none", "lock_row_missing", "java_fires"}
    assert seen.status == 2


def test_shards_that_do_not_move_under_a_node_that_does_nothing(bare):
    now = "TIMESTAMPDIFF(SECOND, '1970-01-01', UTC_TIMESTAMP())"
    for statement in (
        "INSERT INTO shardwheel_node VALUES"
        f" ('aa', 'node-x', 'http://127.0.0.1:9', '0.1.0', 1, {now} * 1000 + 60000, 0, 3, 0, -1, 1)",
        "INSERT INTO shardwheel_cluster (id, shards) VALUES (1, 3)",
        "INSERT INTO shardwheel_shard (shard, epoch, owner)"
        " VALUES (0, 1, 'node-x'), (1, 1, 'node-x'), (2, 1, 'node-x')",
        f"INSERT INTO shardwheel_cursor VALUES (0, 1, {now}), (1, 1, {now} - 20), (2, 1, {now} + 600)",
        f"INSERT INTO shardwheel_reshard VALUES (1, 5, {now} - 120, 1)",
    ):
        bare.tables.execute(statement)
    seen = examine(bare)
    assert {f["code"]: f["level"] for f in seen.above("note")} == {
        "shard_behind": "warning", "shard_ahead": "warning", "reshard_waits": "warning", "guard_missing": "critical"}
    assert ": 1." in seen.find("shard_behind")[0]["what"] and ": 2." in seen.find("shard_ahead")[0]["what"]
    assert {f["code"] for f in seen.findings if f["level"] == "note"} >= {"shards_differ", "node_page_away"}


def test_a_check_that_fails_itself(bare):
    """It is told, and the others go on."""
    bare.tables.execute("DROP TABLE shardwheel_job")
    seen = examine(bare)
    assert {f["code"] for f in seen.above("note")} == {"tables_older", "node_none", "could_not_look"}
    assert seen.find("could_not_look")[0]["where"] == "log_size" and seen.find("indexes")


KNOWN_SECRETS = {"secret_token_default", "secret_users"}


@pytest.mark.parametrize("family", schemas.FAMILIES)
def test_tables_of_each_generation(make_world, server, family):
    """What the original brings along is fine, without a node but for its absence, and for its secrets."""
    world = make_world(server, family=family)
    assert run_shardwheel(["install-schema", *options(world.keys())]).returncode == 0
    seen = examine(world)
    assert {f["code"] for f in seen.above("note")} == {"node_none", *KNOWN_SECRETS}, str(seen)


def test_mysql_8(make_world, mysql8):
    world = make_world(mysql8)
    assert run_shardwheel(["install-schema", *options(world.keys())]).returncode == 0
    seen = examine(world)
    assert {f["code"] for f in seen.above("note")} == {"node_none", "commits_flush", *KNOWN_SECRETS}, str(seen)
