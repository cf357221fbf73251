# SPDX-License-Identifier: MIT
"""api/v1 on nodes that run: what every endpoint has in common, the cluster, settings, alarms."""
import signal

import pytest

from harness.process import free_ports, wait_until
from harness.v1 import Api, add_token, add_user
from harness.webhooks import Webhooks


class Site:
    def __init__(self, world):
        self.world = world
        self.node = world.node(keys={"xxl.job.accessToken": "executors-secret"})
        tables = world.tables
        self.group = world.group(app_name="ours")
        self.users = {
            "admin": add_user(tables, "v1-admin", role=1),
            "reader": add_user(tables, "v1-reader", own_role="reader"),
            "user": add_user(tables, "v1-user", groups=[self.group]),
            "nobody": add_user(tables, "v1-nobody"),
        }
        self.tokens = {name: add_token(tables, user) for name, user in self.users.items()}
        self.admin, self.reader, self.user, self.nobody = (Api(self.node, token) for token in self.tokens.values())
        self.stranger = Api(self.node, None)


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


# ---- what every endpoint has in common


@pytest.mark.asan
def test_refusals_before_any_endpoint(site):
    answer = site.stranger.refused("GET", "/nodes", status=401, kind="login")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="shardwheel"'
    Api(site.node, "swt_" + "0" * 40).refused("GET", "/nodes", status=401, kind="login")
    site.stranger.refused("GET", "/nothing", status=404, kind="unknown")
    assert site.stranger.refused("PUT", "/reshard", status=405, kind="method").headers["Allow"] == "POST, DELETE"
    site.admin.refused("GET", "/nodes?x=1", kind="invalid", field="x")
    site.admin.refused("GET", "/shards?countFires=true&countFires=true", kind="invalid", field="countFires")
    site.admin.refused("GET", "/shards?countFires=%ff", kind="invalid", field="countFires")
    site.admin.refused("POST", "/reshard", kind="invalid")
    site.admin.refused("POST", "/reshard", {}, kind="required", field="shards")
    site.admin.refused("POST", "/reshard", {"shards": 4, "<b>'": 1}, kind="invalid", field="<b>'")
    site.admin.refused("POST", "/reshard", "{'shards':4}", headers={"Content-Type": "application/json"})
    site.admin.refused("POST", "/reshard", "shards=4", status=415, kind="media-type")
    large = '{"shards":' + "0" * (1 << 20) + "}"
    site.admin.refused("POST", "/reshard", large, status=413, headers={"Content-Type": "application/json"})


def test_the_document_is_known_by_its_tag(site):
    answer = site.stranger.call("GET", "/openapi.json")
    assert answer.json["openapi"].startswith("3.1") and answer.json["servers"] == [{"url": "/"}]
    again = site.stranger.call("GET", "/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304 and not again.text
    below = site.node.get("/xxl-job-admin/openapi.json").json
    assert below["servers"] == [{"url": "/xxl-job-admin"}]
    assert below["paths"] == answer.json["paths"]


# ---- the cluster


@pytest.mark.slow
def test_drain_release_and_reshard(cluster):
    a, b = cluster.node("node-a"), cluster.node("node-b")
    tables = cluster.tables
    tables.wait_owners([4, 4])
    api = Api(b, add_token(tables, add_user(tables, "v1-admin", role=1)))
    wait_until(lambda: len(api.good("GET", "/nodes")["items"]) == 2, 15, "rows of both nodes")

    def node_a():
        return next(node for node in api.good("GET", "/nodes")["items"] if node["node"] == "node-a")

    # Its row says what it owned at its last heartbeat.
    wait_until(lambda: node_a()["owned"] == 4, 15, "the row of node-a to have its shards")
    assert api.good("POST", "/nodes/node-a/drain", status=202)["drain"]
    wait_until(lambda: node_a()["state"] == "drained", 30, "node-a to be drained")
    assert {shard["owner"] for shard in api.good("GET", "/shards")["items"]} == {"node-b"}
    api.refused("POST", "/nodes/node-b/drain", {}, status=409, kind="state", field="force")
    api.good("POST", f"/nodes/{node_a()['incarnation']}/undrain", status=202)
    tables.wait_owners([4, 4], 30)

    shard = next(s["shard"] for s in api.good("GET", "/shards?countFires=true")["items"] if s["owner"] == "node-a")
    assert api.good("POST", f"/shards/{shard}/release", status=202)["owner"] == "node-a"
    wait_until(lambda: api.good("GET", "/shards")["items"][shard]["owner"] == "node-b", 30, f"shard {shard} to move")

    wish = api.good("POST", "/reshard", {"shards": 3}, status=202)
    assert wish["shards"] == 3 and wish["try"] == 1
    wait_until(lambda: api.good("GET", "/shards")["shards"] == 3, 30, "three shards")
    assert api.good("GET", "/shards")["reshard"] is None
    api.refused("DELETE", "/reshard", status=409, kind="state")
    assert [row["action"] for row in tables.rows("SELECT action FROM shardwheel_audit ORDER BY id")] == [
        "node.drain", "node.undrain", "shard.release", "cluster.reshard"]
    del a


# ---- settings and alarms


def test_settings_follow_a_reload_and_hide_secrets(make_world, mariadb, tmp_path):
    world = make_world(mariadb)
    path = tmp_path / "application.properties"
    port = free_ports()

    def write(token, timeout):
        keys = {"xxl.job.timeout": timeout, **world.keys(), "xxl.job.accessToken": token, "server.port": port}
        path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))

    write("first-secret", 4)
    node = world.node_from_file(path, port)
    api = Api(node, add_token(world.tables, add_user(world.tables, "v1-admin", role=1)))

    def setting(key):
        return next(item for item in api.good("GET", "/settings")["items"] if item["key"] == key)

    assert setting("xxl.job.accessToken")["value"] == "(hidden)"
    timeout = setting("xxl.job.timeout")
    assert timeout.pop("help").startswith("Maximum time to wait for the answer of an executor")
    assert timeout == {"key": "xxl.job.timeout", "value": "4s", "source": f"{path}:1", "default": "3",
                       "section": "Executors and logs (xxl-job keys)", "reloadable": True}
    assert setting("xxl.job.logretentiondays")["source"] == "default"
    write("second-secret", 7)
    node.signal(signal.SIGHUP)
    wait_until(lambda: setting("xxl.job.timeout")["value"] == "7s", 10, "the new timeout to be shown")
    text = api.call("GET", "/settings").text
    assert "first-secret" not in text and "second-secret" not in text


def test_a_message_of_test_reaches_its_channel(make_world, mariadb):
    hooks = Webhooks()
    try:
        world = make_world(mariadb)
        node = world.node(keys={
            "shardwheel.alarm.channels": f"json={hooks.url('json')} slack={hooks.url('slack')} groups=ours name=chat"})
        api = Api(node, add_token(world.tables, add_user(world.tables, "v1-admin", role=1)))
        channels = api.good("GET", "/alarms/channels")
        ours = {"id": None, "host": hooks.url("").rstrip("/"), "hasSecret": False, "changedAt": None, "leftOut": None,
                "tags": [], "quiet": None}
        assert channels == {"mail": False, "canAdd": True, "items": [
            {"name": "json", "kind": "json", "groups": [], **ours},
            {"name": "chat", "kind": "slack", "groups": ["ours"], **ours}]}
        hooks.replies["slack"] = (500, "no")
        told = api.good("POST", "/alarms/test", {"group": "ours"})
        assert [(item["channel"], item["ok"]) for item in told["items"]] == [("json", True), ("chat", False)]
        assert not told["ok"] and told["items"][1]["error"]
        assert world.tables.value("SELECT who FROM shardwheel_audit WHERE action = 'alarm.test'") == "v1-admin"
    finally:
        hooks.close()
