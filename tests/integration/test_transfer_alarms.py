# SPDX-License-Identifier: MIT
"""Rules of alarms and routes of channels in the document of export and import."""
import pytest

from harness.v1 import Api, add_token, add_user

SECRET = "https://hooks.example.com/services/T0/B0/SECRETPATH"


class Site:
    def __init__(self, world):
        self.tables, self.node = world.tables, world.node()
        group = self.tables.add_group("ours")
        admin = add_user(self.tables, "root", role=1)
        self.admin = Api(self.node, add_token(self.tables, admin))
        self.writer = Api(self.node, add_token(self.tables, admin, "read,write"))
        self.user = Api(self.node, add_token(self.tables, add_user(self.tables, "user", groups=[group])))

    def clear(self):
        self.tables.execute("DELETE FROM shardwheel_rule")
        self.tables.execute("DELETE FROM shardwheel_channel")
        self.tables.execute("DELETE FROM shardwheel_audit")

    def audited(self):
        return [row["action"] for row in self.tables.rows("SELECT action FROM shardwheel_audit ORDER BY id")]


@pytest.fixture(scope="module")
def module_site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


@pytest.fixture
def site(module_site):
    module_site.clear()
    return module_site


def document(**members):
    return {"format": "shardwheel-jobs", "version": 1, **members}


def add_all(site):
    for rule in ({"kind": "not_done", "doneBy": "06:30", "group": "ours"}, {"kind": "long_run", "limit": 0},
                 {"kind": "no_success", "limit": 60, "tag": "b"}, {"kind": "no_success", "limit": 90, "tag": "a"}):
        site.admin.good("POST", "/alarms/rules", rule, status=201)
    for channel in ({"name": "ops", "kind": "slack", "url": SECRET, "groups": ["ours", "x"], "tags": ["money"],
                     "quiet": "22:00-07:00/Asia/Shanghai"},
                    {"name": "all", "kind": "json", "url": SECRET, "secret": "SECRETWORD"}):
        site.admin.good("POST", "/alarms/channels", channel, status=201)


def counts(result):
    return {outcome: result[outcome] for outcome in ("create", "change", "same", "refused", "left") if result[outcome]}


@pytest.mark.asan
def test_what_was_taken_out_is_the_same_when_put_in(site):
    add_all(site)
    answer = site.admin.call("GET", "/export")
    assert "SECRET" not in answer.text and "hooks.example.com" not in answer.text
    taken = answer.json
    assert taken["rules"] == [
        {"kind": "long_run", "limit": 0}, {"kind": "no_success", "tag": "a", "limit": 90},
        {"kind": "no_success", "tag": "b", "limit": 60}, {"kind": "not_done", "group": "ours", "doneBy": "06:30"}]
    assert taken["channels"] == [
        {"name": "all", "kind": "json"},
        {"name": "ops", "kind": "slack", "groups": ["ours", "x"], "tags": ["money"],
         "quiet": "22:00-07:00/Asia/Shanghai"}]
    before = site.audited()
    everything = len(taken["groups"]) + len(taken["rules"]) + len(taken["channels"])
    for path in ("/import?dryRun=true", "/import", "/import"):
        assert counts(site.admin.good("POST", path, taken)) == {"same": everything}
    assert site.audited() == before  # nothing was written

    site.tables.execute("DELETE FROM shardwheel_rule WHERE kind <> 'long_run'")
    site.tables.execute("UPDATE shardwheel_rule SET bound = 600")
    site.tables.execute("UPDATE shardwheel_channel SET tags = '', quiet = '' WHERE name = 'ops'")
    tried = site.admin.good("POST", "/import?dryRun=true", taken)
    assert counts(tried) == {"create": 3, "change": 2, "same": everything - 5}
    assert [(rule["name"], rule["outcome"], rule["before"], rule["after"]) for rule in tried["rules"]] == [
        ("long_run", "change", {"limit": 600}, {"limit": 0}), ("no_success tag=a", "create", None, {"limit": 90}),
        ("no_success tag=b", "create", None, {"limit": 60}),
        ("not_done group=ours", "create", None, {"doneBy": "06:30"})]
    assert tried["channels"][1]["after"] == {"tags": "money", "quiet": "22:00-07:00/Asia/Shanghai"}
    assert site.audited() == before
    assert counts(site.admin.good("POST", "/import", taken)) == counts(tried)
    assert sorted(site.audited()[len(before):]) == ["channel.update"] + 3 * ["rule.add"] + ["rule.update"]
    assert site.admin.good("GET", "/export") == taken
    assert site.tables.value("SELECT target FROM shardwheel_channel WHERE name = 'ops'") == SECRET
    assert counts(site.admin.good("POST", "/import", taken)) == {"same": everything}


def test_what_is_wrong_is_named(site):
    add_all(site)
    rule, channel = {"kind": "no_success", "limit": 60}, {"name": "ops", "kind": "slack"}
    for members, field, item in (
            ({"rules": {}}, "rules", None), ({"rules": [1]}, "rules", None), ({"rules": None}, "rules", None),
            ({"rules": [rule] * 201}, "rules", None), ({"channels": "ops"}, "channels", None),
            ({"rules": [rule, {"limit": 60}]}, "kind", "rules[1]"),
            ({"rules": [{"kind": "no_success"}]}, "limit", "rules[0]"),
            ({"rules": [{"kind": "no_success", "limit": "60"}]}, "limit", "rules[0]"),
            ({"rules": [{"kind": "not_done", "doneBy": "6"}]}, "doneBy", "rules[0]"),
            ({"rules": [{"kind": "often", "limit": 60}]}, "kind", "rules[0]"),
            ({"rules": [rule, {**rule, "tag": "a", "colour": "red"}]}, "colour", "rules[1]"),
            ({"rules": [{**rule, "tag": "a"}, rule, {**rule, "tag": "a", "limit": 90}]}, "rules", "no_success tag=a"),
            ({"channels": [{"name": "ops"}]}, "kind", "channels[0]"),
            ({"channels": [{"kind": "slack"}]}, "name", "channels[0]"),
            ({"channels": [{**channel, "url": SECRET}]}, "url", "channels[0]"),
            ({"channels": [{**channel, "groups": "ours"}]}, "groups", "channels[0]"),
            ({"channels": [channel, channel]}, "channels", "ops")):
        refused = site.admin.refused("POST", "/import", document(**members), 400, field=field).json
        assert refused.get("item") == item, (members, refused)

    rules = [{**rule, "limit": 59}, {"kind": "late_shard", "limit": 5, "tag": "a"}, {**rule, "tag": "a,b"},
             {**rule, "tag": "c"}]
    channels = [{**channel, "quiet": "late"}, {"name": "all", "kind": "slack"}, {"name": "none", "kind": "json"}]
    for path, last in (("/import?dryRun=true", "create"), ("/import", "create"), ("/import", "same")):
        result = site.admin.good("POST", path, document(rules=rules, channels=channels))
        assert [(one["outcome"], one.get("field")) for one in result["rules"]] == [
            ("refused", "limit"), ("refused", "tag"), ("refused", "tag"), (last, None)]
        assert [(one["outcome"], one.get("field")) for one in result["channels"]] == [
            ("refused", "quiet"), ("refused", "kind"), ("refused", "name")]
    assert "the channel is of kind json" in result["channels"][1]["detail"]
    assert "there is no channel none" in result["channels"][2]["detail"]


def test_who_may_not(site):
    add_all(site)
    taken = site.admin.good("GET", "/export")
    assert "rules" not in site.user.good("GET", "/export")
    assert "rules" not in site.admin.good("GET", "/export?group=1")
    assert "channels" not in site.admin.good("POST", "/export", {"ids": []})
    some = site.writer.good("GET", "/export")
    assert some["rules"] == taken["rules"] and "channels" not in some
    for path in ("/import?dryRun=true", "/import"):
        assert counts(site.writer.good("POST", path, some)) == {"same": len(some["groups"]) + len(some["rules"])}
        changed = {**taken, "rules": [{**taken["rules"][0], "limit": 60}]}
        result = site.writer.good("POST", path, changed)
        assert [(one["outcome"], one["kind"]) for one in result["rules"] + result["channels"]] == [
            ("refused", "forbidden")] * 3
    assert site.admin.good("GET", "/export") == taken
