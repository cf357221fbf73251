# SPDX-License-Identifier: MIT
"""What happened, and why a job fired or did not: a node that dies, an edit by SQL, a database away, a stop."""
import json
import time

import pytest

from harness.process import wait_until
from harness.proxy import Proxy
from harness.v1 import Api, add_token, add_user


def instant(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def texts(items, state):
    return [item["text"] for item in items if item["state"] == state]


class Story:
    """All of it happens once, and the tests ask."""

    def __init__(self, world):
        tables, self.world = world.tables, world
        self.began = int(time.time())
        self.group = world.group(world.executor())
        first = world.node("node-b")
        self.token = add_token(tables, add_user(tables, "history-admin", role=1))
        self.job = tables.add_job(self.group, cron="* * * * * ?")
        tables.wait_logs(self.job, "trigger_code = 200", count=3)
        tables.execute("UPDATE xxl_job_info SET schedule_conf = '0/2 * * * * ?', update_time = NOW() WHERE id = %s",
                       (self.job,))
        first.kill()

        proxy = self.proxy = Proxy(world.server.port)
        second = world.node("node-a", keys={"spring.datasource.url": world.server.jdbc_url(
            tables.database, port=proxy.port)})
        self.api = Api(second, self.token)
        wait_until(lambda: self.events("job-changed") and self.events("node-died"), 40, "the edit and the death")
        proxy.cut()
        time.sleep(9)  # how long it lasts: five seconds are planned ahead
        proxy.heal()
        wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_event WHERE kind = 'database-away'"), 30,
                   "the outage to be told")
        self.healed = int(time.time())
        after = time.strftime("%F %T", time.gmtime(self.healed))
        tables.wait_logs(self.job, f"trigger_code = 200 AND trigger_time > '{after}'", seconds=20)
        self.api.good("POST", f"/jobs/{self.job}/stop")
        self.stopped = int(time.time())
        self.ended = int(time.time())
        self.explanation = self.api.good(
            "GET", f"/jobs/{self.job}/explain?from={instant(self.began)}&to={instant(self.ended + 60)}")
        self.told = self.api.good("GET", "/events?limit=100")["items"]
        self.changes = self.api.good("GET", f"/jobs/{self.job}/changes")["items"]

    def events(self, kind):
        return self.api.good("GET", f"/events?kind={kind}")["items"]


@pytest.fixture(scope="module")
def story(make_module_world, mariadb, zookeeper):
    story = Story(make_module_world(mariadb, zookeeper=zookeeper))
    yield story
    story.proxy.close()


def test_events_tell_the_story(story):
    kinds = [event["kind"] for event in reversed(story.told)]
    for kind in ("node-joined", "shard-taken", "job-changed", "node-died", "database-away"):
        assert kind in kinds, kinds
    died, = [event for event in story.told if event["kind"] == "node-died"]
    assert died["node"] == "node-b"
    edit, = [event for event in story.told if event["kind"] == "job-changed"]
    assert edit["job"] == story.job and "schedule CRON 0/2 * * * * ?, started" in edit["text"]
    away, = [event for event in story.told if event["kind"] == "database-away"]
    assert away["until"] > away["at"]
    joined = [event["facts"] for event in story.told if event["kind"] == "node-joined"]
    assert all(facts["version"] and facts["run"] for facts in joined)
    assert edit["facts"] == {"scheduleType": "CRON", "scheduleConf": "0/2 * * * * ?", "running": True}


def test_changes_are_ours_alone(story):
    stop, = story.changes
    assert (stop["who"], stop["action"], stop["target"]) == ("history-admin", "job.stop", story.job)
    assert stop["before"]["running"] is True and stop["after"]["running"] is False


def test_each_due_time_is_explained(story):
    items = story.explanation["items"]
    assert story.explanation["complete"]
    assert [item["due"] for item in items] == sorted(item["due"] for item in items)
    scheduled = [item for item in items if item["kind"] == "cron"]
    # One row a second until the edit, which do not fit the schedule behind it.
    unknown = texts(scheduled, "unknown")
    assert any("changed outside shardwheel" in text for text in unknown), unknown
    # The node's death and the outage held fires up; nothing is without a reason.
    held_up = texts(scheduled, "late") + texts(scheduled, "missing") + texts(scheduled, "skipped")
    assert any("node-b failed" in text for text in held_up), held_up
    assert any("the database was unavailable" in text for text in held_up), held_up
    assert not [text for text in texts(scheduled, "missing") if "the reason is not recorded" in text]
    # And after the stop none is due.
    stopped = [text for text in texts(scheduled, "skipped") if "stopped by history-admin" in text]
    assert len(stopped) >= 2, texts(scheduled, "skipped")
    for item in scheduled:
        facts = item["facts"]
        if item["reason"] == "stopped" and "stopped by" in item["text"]:
            assert facts["change"]["who"] == "history-admin"
        if "because the database was unavailable" in item["text"]:
            assert facts["outage"]["kind"] == "database-away" and facts["outage"]["until"] > facts["outage"]["from"]
        if item["state"] == "late":
            assert facts["lateSeconds"] >= 2 and facts["end"]["run"] == item["runs"][0]
    assert {"running", "stopped", "schedule-unknown"} <= {item["reason"] for item in scheduled}
    runs = [run for item in scheduled for run in item["runs"]]
    assert len(runs) == len(set(runs)) > 10


def test_a_timeline_has_causes_beside_effects(story):
    span = f"from={instant(story.began)}&to={instant(story.ended + 60)}"

    def alike():
        """What was planned when the job was stopped may end between the two."""
        told = story.api.good("GET", f"/jobs/{story.job}/timeline?{span}")
        explained = story.api.good("GET", f"/jobs/{story.job}/explain?{span}")
        assert told["items"] == explained["items"]
        return told

    told = wait_until(alike, 30, "the same from both")
    assert told["steps"] is None and told["complete"]
    assert [change["action"] for change in told["changes"]] == ["job.stop"]
    kinds = [event["kind"] for event in told["events"]]
    assert {"job-changed", "node-died", "database-away", "shard-taken"} <= set(kinds)
    shards = {event["shard"] for event in told["events"]} - {None}
    assert shards == {story.job % 8}, shards
    assert story.api.good("GET", f"/jobs/{story.job}/family") == {
        "jobs": [{"id": story.job, "access": "seen", "jobGroup": story.group, "running": False, "nextTime": None,
                  "name": story.world.tables.value("SELECT job_desc FROM xxl_job_info WHERE id = %s", (story.job,))}],
        "links": [], "complete": True}


def test_bad_ranges_are_refused(story):
    path = f"/jobs/{story.job}/explain"
    story.api.refused("GET", path, kind="required", field="from")
    story.api.refused("GET", path + "?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", kind="invalid", field="to")
    story.api.refused("GET", path + "?from=2026-01-01T00:00:00Z&to=2026-01-09T00:00:00Z", kind="invalid", field="to")
    story.api.refused("GET", "/jobs/999999/explain?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", status=404,
                      kind="unknown")
    story.api.refused("GET", "/jobs/999999/changes", status=404, kind="unknown")
    story.api.refused("GET", "/history/minutes?from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z", status=429,
                      kind="limit", field="step")
    story.api.refused("GET", "/audit?kind=job&action=job.stop", kind="invalid", field="kind")


def test_shardwheelctl_explains_the_same(story):
    begin, end = instant(story.began), instant(story.ended)
    words = ("why", str(story.job), "--from", begin, "--to", end)
    told = story.api.good("GET", f"/jobs/{story.job}/explain?from={begin}&to={end}")

    result = story.world.ctl(*words, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["job"], found["fromSeconds"], found["complete"]) == (story.job, story.began, True)
    assert [(instant(item["dueSeconds"]), item["kind"], item["state"], item["runs"], item["text"])
            for item in found["items"]] == \
        [(item["due"].replace(".000", ""), item["kind"], item["state"], item["runs"], item["text"])
         for item in told["items"]]
    lines = story.world.ctl(*words).stdout.splitlines()
    assert len(lines) == 1 + len(found["items"]) and lines[0].split()[:2] == ["DUE", "STATE"], lines[0]
    assert all(item["text"] in line and item["state"] in line for item, line in zip(found["items"], lines[1:]))

    before = story.world.ctl("why", str(story.job), "--to", instant(story.began)).stdout
    assert "the earlier schedule is not recorded" in before, before
    odd = story.ended | 1
    between = story.world.ctl("why", str(story.job), "--from", instant(odd), "--to", instant(odd + 1)).stdout
    assert between == "Nothing was due in this time.\n"
    for refused, said in (((str(story.job), "--from", "2001-01-01 00:00"), "one call can have at most 7 days"),
                          ((str(story.job), "--from", "soon"), "from: expected YYYY-MM-DD"),
                          ((str(story.job), "--at", begin), "--at: unknown option"),
                          (("999999",), "999999")):
        result = story.world.ctl("why", *refused)
        assert result.returncode == 1 and said in result.stderr, result.stderr


def test_audit_pages_go_on(story):
    first = story.api.good("GET", f"/audit?kind=job&target={story.job}&limit=1")
    assert [row["action"] for row in first["items"]] == ["job.stop"] and first["next"] is None
    events = story.api.good("GET", "/events?limit=2")
    rest = story.api.good("GET", f"/events?limit=100&after={events['next']}")
    assert [event["id"] for event in events["items"] + rest["items"]] == [event["id"] for event in story.told]


def test_minutes_count_what_fired(story):
    begin = story.began // 60 * 60
    path = f"/history/minutes?from={instant(begin)}&to={instant(story.ended)}"
    wait_until(lambda: sum(point["fires"] for point in story.api.good("GET", path)["items"]) > 0, 70, "a minute to end")
    points = story.api.good("GET", path)["items"]
    assert points[0]["from"] == time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(begin))
    fired = [point for point in points if point["fires"]]
    assert fired and all(0 <= point["p50LatenessMilliseconds"] <= point["p99LatenessMilliseconds"] for point in fired)
    assert all(point["p50LatenessMilliseconds"] is None for point in points if not point["fires"])
