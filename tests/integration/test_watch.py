# SPDX-License-Identifier: MIT
"""Alarms on what did not happen: opened once and ended once, over nodes that die; rules, tags, routes, quiet hours."""
import datetime

import pytest

from harness.process import wait_until
from harness.v1 import Api, add_token, add_user
from harness.webhooks import Webhooks

TURN = 40  # seconds: two turns of who looks, and what is told of it
LONG_AGO = "2020-01-01 00:00:00"


@pytest.fixture
def hooks():
    server = Webhooks()
    yield server
    server.close()


def channels(*words):
    return {"shardwheel.alarm.channels": " ".join(words), "shardwheel.alarm.offline": "off"}


def old_job(tables, group, job_settings=(), **columns):
    """A job that nobody starts, and that was not changed for a long time."""
    job = tables.add_job(group, "plain", **{"trigger_status": 0, "trigger_next_time": 0, "schedule_type": "NONE",
                                            **columns})
    tables.execute("UPDATE xxl_job_info SET update_time = %s WHERE id = %s", (LONG_AGO, job))
    if job_settings:
        tables.insert("shardwheel_job", {"job_id": job, **dict(job_settings)})
    return job


def succeed(tables, job, **columns):
    now = tables.value("SELECT NOW()")
    return tables.add_log(job, **{"trigger_code": 200, "trigger_time": now, "handle_time": now, "handle_code": 200,
                                  "alarm_status": 1, **columns})


def told(hooks, path="json", job=None):
    return [c.json["event"] for c in hooks.at(path) if job is None or c.json.get("jobId") == job]


def admin_of(world, node):
    return Api(node, add_token(world.tables, add_user(world.tables, "watch-admin", role=1)))


@pytest.mark.slow
def test_a_job_without_a_success_is_told_once_over_nodes_that_die(cluster, hooks):
    tables = cluster.tables
    group = tables.add_group("app-x", [])
    keys = channels(f"json={hooks.url('json')}")
    a = cluster.node("node-a", keys=keys)
    job = old_job(tables, group, {"success_within_s": 3600})
    never = old_job(tables, group)
    wait_until(lambda: told(hooks), TURN, "the alarm")
    message, = hooks.at("json")
    assert (message.json["event"], message.json["jobId"], message.json["app"]) == ("no_success", job, "app-x")
    assert message.json["reason"] == "no success for 3600 s" and message.json["title"].startswith("No success: ")
    wait_until(lambda: tables.value("SELECT phase FROM shardwheel_watch") == 1, TURN, "that it was told")
    a.kill()

    b = cluster.node("node-b", keys=keys)
    wait_until(lambda: "event=telling" in b.log_text(), 60, "the other node")
    other = old_job(tables, group, {"success_within_s": 3600})
    wait_until(lambda: told(hooks, job=other), TURN, "a look of the other node")
    assert told(hooks, job=job) == ["no_success"], "it was told again"

    succeed(tables, job)
    wait_until(lambda: len(told(hooks, job=job)) == 2, TURN, "the end")
    assert told(hooks, job=job) == ["no_success", "no_success_over"]
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_watch WHERE target = %s", (job,)) == 0, TURN,
               "the state to go")
    assert told(hooks, job=never) == []


@pytest.mark.slow
def test_rules_by_tag_and_what_becomes_of_their_alarms(world, hooks):
    tables = world.tables
    group, other_group = tables.add_group("app-x", []), tables.add_group("app-y", [])
    node = world.node(keys=channels(f"json={hooks.url('json')}"))
    admin = admin_of(world, node)
    tagged = [old_job(tables, group, {"tags": "a,night"}) for _ in range(3)]
    foreign = old_job(tables, other_group, {"tags": "night"})
    stopped = old_job(tables, group, {"tags": "night"}, schedule_type="CRON", schedule_conf="0 0 0 * * ?")
    plain = old_job(tables, group)

    for bad, field in (({"kind": "no_success"}, "limit"), ({"kind": "no_success", "limit": 59}, "limit"),
                       ({"kind": "not_done", "doneBy": "24:00"}, "doneBy"),
                       ({"kind": "not_done", "limit": 3}, "doneBy"),
                       ({"kind": "x", "limit": 99}, "kind"), ({"limit": 99}, "kind"),
                       ({"kind": "few_executors", "limit": 2, "tag": "a"}, "tag"),
                       ({"kind": "few_executors", "limit": 0}, "limit"),
                       ({"kind": "late_shard", "limit": 5, "group": "a"}, "group"),
                       ({"kind": "no_success", "limit": 99, "tag": "a,b"}, "tag")):
        assert admin.refused("POST", "/alarms/rules", bad, 400).json["field"] == field, bad
    rule = admin.good("POST", "/alarms/rules", {"kind": "no_success", "limit": 3600, "tag": "night", "group": "app-x"},
                      status=201)["id"]
    admin.refused("POST", "/alarms/rules", {"kind": "no_success", "limit": 60, "tag": "night", "group": "app-x"},
                  kind="taken")
    assert admin.good("GET", "/alarms/rules")["items"][0]["limit"] == 3600
    day = admin.good("POST", "/alarms/rules", {"kind": "not_done", "doneBy": "06:00"}, status=201)["id"]
    for one, change, field in ((rule, {"doneBy": "07:00"}, "doneBy"), (day, {"limit": 99}, "limit"),
                               (rule, {"limit": 59}, "limit"), (rule, {"tag": "a,b"}, "tag")):
        assert admin.refused("PATCH", f"/alarms/rules/{one}", change, 400).json["field"] == field, change
    admin.good("PATCH", f"/alarms/rules/{rule}", {"limit": 7200}, status=204)
    admin.good("PATCH", f"/alarms/rules/{day}", {"doneBy": "07:30", "group": "app-y"}, status=204)
    listed = admin.good("GET", "/alarms/rules")["items"]
    assert [(r["limit"], r["doneBy"], r["tag"], r["group"]) for r in listed] == [
        (7200, None, "night", "app-x"), (None, "07:30", None, "app-y")]
    admin.good("DELETE", f"/alarms/rules/{day}", status=204)
    admin.refused("PATCH", f"/alarms/rules/{day}", {"doneBy": "07:30"}, status=404)
    # A rule that is new waits for its time: as if it had been made long ago.
    tables.execute("UPDATE shardwheel_rule SET changed_ms = 0")

    wait_until(lambda: len(told(hooks)) == 3, TURN, "the alarms")
    assert sorted(c.json["jobId"] for c in hooks.at("json")) == tagged
    opened = admin.good("GET", "/alarms/open")["items"]
    assert sorted(o["jobId"] for o in opened) == tagged and {o["kind"] for o in opened} == {"no_success"}
    assert told(hooks, job=foreign) + told(hooks, job=stopped) + told(hooks, job=plain) == []

    # The tag goes, the job goes: their alarms end, and nobody is told.
    tables.execute("UPDATE shardwheel_job SET tags = 'a' WHERE job_id = %s", (tagged[0],))
    tables.execute("DELETE FROM xxl_job_info WHERE id = %s", (tagged[1],))
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_watch") == 1, TURN, "two of them to go")
    # So does the rule.
    admin.good("DELETE", f"/alarms/rules/{rule}", status=204)
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_watch") == 0, TURN, "the last one to go")
    assert len(told(hooks)) == 3
    admin.refused("DELETE", f"/alarms/rules/{rule}", status=404)
    assert tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE action LIKE 'rule.%%'") == 6


@pytest.mark.slow
def test_long_runs_late_days_few_executors_and_late_shards(world, hooks):
    tables = world.tables
    group = tables.add_group("app-x", [])
    node = world.node(keys={**channels(f"json={hooks.url('json')}"), "shardwheel.lost-runs.ask": "off"})
    admin = admin_of(world, node)
    # Else the runs are lost: nobody knows their executor.
    tables.execute("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
                   "('EXECUTOR', 'other-app', 'http://127.0.0.1:1/', NOW() + INTERVAL 1 DAY)")
    two_hours_ago = tables.value("SELECT NOW() - INTERVAL 2 HOUR")
    long_job = old_job(tables, group, {"longest_run_s": 3600})
    usual_job = old_job(tables, group, {"longest_run_s": 0})
    for n in range(20):
        start = tables.value("SELECT NOW() - INTERVAL %s HOUR", (20 - n,))
        tables.add_log(usual_job, trigger_code=200, trigger_time=start, handle_code=200, alarm_status=1,
                       handle_time=start + datetime.timedelta(seconds=40))
    unknown_job = old_job(tables, group, {"longest_run_s": 0})
    rows = [tables.add_log(job, trigger_code=200, trigger_time=two_hours_ago, handle_code=0, alarm_status=0,
                           executor_address="http://127.0.0.1:1/") for job in (long_job, usual_job, unknown_job)]
    done_job = old_job(tables, group, {"done_by": "00:00", "time_zone": "Pacific/Kiritimati"})

    wait_until(lambda: len(told(hooks)) == 3, 2 * TURN, "three alarms")
    by_job = {c.json["jobId"]: c.json for c in hooks.at("json")}
    assert by_job[long_job]["event"] == "long_run" and by_job[long_job]["logId"] == rows[0]
    assert by_job[usual_job]["reason"] == "a run takes longer than 120 s, three times the usual"
    assert by_job[done_job]["event"] == "not_done" and by_job[done_job]["reason"].endswith("by 00:00")

    for row in rows:
        tables.execute("UPDATE xxl_job_log SET handle_code = 200, handle_time = NOW() WHERE id = %s", (row,))
    succeed(tables, done_job)
    wait_until(lambda: len(told(hooks)) == 6, TURN, "their ends")
    assert sorted(told(hooks)[3:]) == ["long_run_over", "long_run_over", "not_done_over"]

    admin.good("POST", "/alarms/rules", {"kind": "few_executors", "limit": 1, "group": "app-x"}, status=201)
    wait_until(lambda: len(told(hooks)) == 7, 60 + TURN, "the group without executors")
    assert hooks.at("json")[-1].json["title"].startswith("Too few executors: ")
    tables.execute("UPDATE xxl_job_group SET address_type = 1, address_list = 'http://127.0.0.1:1/' WHERE id = %s",
                   (group,))
    wait_until(lambda: told(hooks)[-1] == "few_executors_over", TURN, "its end")


@pytest.mark.slow
def test_tags_route_and_quiet_hours_hold_back(world, hooks):
    """A channel that is quiet is told at the end what is open still, and nothing else."""
    tables = world.tables
    group = tables.add_group("app-x", [])
    node = world.node(keys=channels(f"json={hooks.url('json-all')} name=all",
                                    f"json={hooks.url('json-night')} name=n tags=night"))
    admin = admin_of(world, node)
    hour = tables.value("SELECT HOUR(UTC_TIMESTAMP())")
    quiet = f"{(hour - 1) % 24:02}:00-{(hour + 3) % 24:02}:00"
    channel = {"kind": "json", "url": hooks.url("json-quiet"), "name": "quiet", "quiet": quiet}
    for bad in ("22-7", "22:00-07:00/Mars", "22:00-22:00", "22:00", "22:00-07:00/"):
        admin.refused("POST", "/alarms/channels", {**channel, "quiet": bad}, 400, field="quiet")
    made = admin.good("POST", "/alarms/channels", channel, status=201)["id"]
    gone = admin.good("POST", "/alarms/channels", {**channel, "name": "gone"}, status=201)["id"]
    listed = {c["name"]: c for c in admin.good("GET", "/alarms/channels")["items"]}
    assert listed["n"]["tags"] == ["night"] and listed["quiet"]["quiet"] == quiet and listed["all"]["quiet"] is None
    wait_until(lambda: "settings_and_console=4" in node.log_text(), TURN, "the channels to be used")

    night = old_job(tables, group, {"success_within_s": 3600, "tags": "night"})
    ends = old_job(tables, group, {"success_within_s": 3600, "tags": "day"})
    fails = old_job(tables, group)
    tables.add_log(fails, trigger_code=500, trigger_msg="x", handle_code=0)
    wait_until(lambda: len(told(hooks, "json-all")) == 3, TURN, "the alarms")
    wait_until(lambda: told(hooks, "json-night") == ["no_success"], TURN, "the alarm of the other channel")
    assert hooks.at("json-night")[0].json["jobId"] == night
    succeed(tables, ends)
    wait_until(lambda: told(hooks, "json-all", ends) == ["no_success", "no_success_over"], TURN, "an end")
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_watch WHERE target = %s", (ends,)) == 0, TURN,
               "that the end was told")
    assert tables.value("SELECT COUNT(*) FROM shardwheel_held") == 6  # for each channel what it missed
    admin.good("DELETE", f"/alarms/channels/{gone}", status=204)
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_held") == 3, TURN, "what nobody is to be told")
    assert hooks.at("json-quiet") == []

    admin.good("PATCH", f"/alarms/channels/{made}", {"quiet": None}, status=204)
    wait_until(lambda: len(told(hooks, "json-quiet")) == 2, TURN, "what is open still")
    assert sorted((c.json["event"], c.json["jobId"]) for c in hooks.at("json-quiet")) == [
        ("job_failed", fails), ("no_success", night)]
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_held") == 0, TURN, "nothing to be held back")
    assert len(told(hooks, "json-all")) == 4 and told(hooks, "json-night") == ["no_success"]


def test_settings_of_a_job_are_set_and_shown(world):
    group = world.tables.add_group("app-x", [])
    job = old_job(world.tables, group)
    node = world.node()
    admin = admin_of(world, node)
    for bad in ({"successWithinSeconds": 59}, {"longestRunSeconds": 59}, {"doneBy": "6:00"}, {"doneBy": "24:00"}):
        admin.refused("PATCH", f"/jobs/{job}", {"settings": bad}, 400)
    settings = {"successWithinSeconds": 3600, "longestRunSeconds": 0, "doneBy": "06:30"}
    admin.good("PATCH", f"/jobs/{job}", {"settings": settings})
    shown = admin.good("GET", f"/jobs/{job}")["settings"]
    assert {name: shown[name] for name in settings} == settings
    assert world.tables.value("SELECT done_by FROM shardwheel_job WHERE job_id = %s", (job,)) == "06:30"
