# SPDX-License-Identifier: MIT
"""Alarms by webhook and mail: formats and signatures, throttle, recovery, receivers that are away, nodes that die."""
import re
import json

import pytest

from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.flows import Flows
from harness.mail import MailServer
from harness.node import options, run_shardwheel
from harness.process import wait_until
from harness.v1 import Api, add_token, add_user
from harness.webhooks import DINGTALK_SECRET, FEISHU_SECRET, JSON_SECRET, Webhooks

PASS = 15  # seconds: a pass of the failure monitor, and what is told of it
HOSTILE = 'x<at user_id="all">all</at> *b* <!channel> "q" \\ 😀 ' + "é" * 5000


@pytest.fixture
def hooks():
    server = Webhooks()
    yield server
    server.close()


@pytest.fixture
def mail_server():
    server = MailServer()
    yield server
    server.close()


def channels(*words):
    return {"shardwheel.alarm.channels": " ".join(words)}


def dingtalk(hooks):
    return f"dingtalk={hooks.url('dingtalk')}?access_token=t secret={DINGTALK_SECRET}"


def feishu(hooks):
    return f"feishu={hooks.url('feishu')} secret={FEISHU_SECRET}"


def idle_job(tables, group, **columns):
    return tables.add_job(group, "plain", **{"trigger_status": 0, "trigger_next_time": 0, **columns})


def fail(tables, job, message="result<br>reason: it broke", **columns):
    return tables.add_log(job, **{"trigger_code": 500, "trigger_msg": message, "handle_code": 0, **columns})


def settled(tables, log_id, status, seconds=PASS):
    def done():
        row = tables.log(log_id)
        assert row["alarm_status"] == status, f"alarm_status is {row['alarm_status']}"
        return row

    return wait_until(done, seconds, f"alarm_status {status} of log {log_id}")


def test_each_channel_gets_what_it_understands(world, tmp_path, mail_server):
    """Signatures are checked by the receivers; hostile texts end as text, within the limits of each."""
    hooks = Webhooks(tls=str(tmp_path))
    try:
        tables = world.tables
        group = tables.add_group("pay-app", [])
        other = tables.add_group("other-app", [])
        job = idle_job(tables, group, job_desc="日报 <b>*x*</b>")
        node = world.node(keys={
            **mail_server.keys(), "shardwheel.alarm.ca": hooks.ca,
            "shardwheel.alarm.link": "https://console.example.org/xxl-job-admin/",
            "shardwheel.alarm.title": "[P1] {event}: {job} {{{count}",
            **channels(dingtalk(hooks), f"wecom={hooks.url('wecom')}?key=k", feishu(hooks),
                       f"slack={hooks.url('slack')} groups=pay-app",
                       f"slack={hooks.url('slack-other')} groups=other-app",
                       f"json={hooks.url('json')} secret={JSON_SECRET}", "mail=ops@example.org groups=pay-app"),
        })
        log_id = fail(tables, job, "<!--sw:p:1:1-->trigger type: cron<br>reason: " + HOSTILE.replace("<", "&lt;"))

        settled(tables, log_id, 2)

        assert hooks.refused == [] and hooks.at("slack-other") == []
        title = "[P1] Job failed: 日报 <b>*x*</b> {1"
        ding, wecom, lark = hooks.at("dingtalk"), hooks.at("wecom"), hooks.at("feishu")
        assert [len(ding), len(wecom), len(lark), len(hooks.at("slack")), len(hooks.at("json"))] == [1] * 5
        assert ding[0].text.startswith(title + "\n") and "reason: x<at user_id" in ding[0].text
        assert wecom[0].text.startswith(title)
        assert "<at" not in lark[0].text and "＜at user_id" in lark[0].text
        slack = hooks.at("slack")[0].text
        assert "&lt;!channel&gt;" in slack and "<" not in slack
        j = hooks.at("json")[0].json
        assert (j["event"], j["jobId"], j["logId"], j["code"], j["count"]) == ("job_failed", job, log_id, 500, 1)
        assert j["app"] == "pay-app" and j["link"] == f"https://console.example.org/xxl-job-admin/joblog?jobId={job}"
        assert j["reason"].startswith('x<at user_id="all">') and len(j["reason"].encode()) < 2000
        assert [m.recipients for m in mail_server.mails] == [["ops@example.org"]]
        assert mail_server.mails[0].message["Subject"] == title
        metrics = node.metrics()
        for kind in ("mail", "json", "dingtalk", "wecom", "feishu", "slack"):
            assert metrics[f'shardwheel_alarm_messages_total{{channel="{kind}",result="sent"}}'] == 1
        assert metrics["shardwheel_alarms_queued"] == 0
        text = node.log_text()
        assert DINGTALK_SECRET not in text and "access_token" not in text

        quiet = fail(tables, idle_job(tables, other))
        settled(tables, quiet, 2)
        assert len(hooks.at("slack-other")) == 1 and len(hooks.at("slack")) == 1 and len(mail_server.mails) == 1
    finally:
        hooks.close()


def test_a_storm_is_one_message_and_a_recovery_is_told(world, hooks):
    tables = world.tables
    group = tables.add_group("app-x", [])
    job = idle_job(tables, group, job_desc="stormy")
    node = world.node(keys={**channels(f"json={hooks.url('json')}"), "shardwheel.alarm.every": "20s"})
    # All at once: nobody sees some of them before the others.
    tables.execute("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code)"
                   f" VALUES {', '.join([f'({group}, {job}, NOW(), 500, %s, 0)'] * 5)}", ["it broke"] * 5)
    logs = [row["id"] for row in tables.logs(job)]

    for log_id in logs:
        settled(tables, log_id, 2)
    first = wait_until(lambda: hooks.at("json"), PASS, "the first message")[0]
    assert (first.json["count"], first.json["logId"]) == (5, logs[0])
    assert first.json["title"] == f"Job failed 5 times: stormy (log {logs[0]})"
    more = [fail(tables, job) for _ in range(3)]
    for log_id in more:
        settled(tables, log_id, 2)
    assert len(hooks.at("json")) == 1, "told within the quiet time"
    wait_until(lambda: len(hooks.at("json")) == 2, 30, "the message about the others")
    second = hooks.at("json")[1]
    assert (second.json["count"], second.json["logId"]) == (3, more[-1])
    assert second.at - first.at > 18
    # What a receiver has is counted when its answer was read.
    wait_until(lambda: node.metrics()['shardwheel_alarms_total{result="sent"}'] == 2, 10, "the second to be counted")
    assert node.metrics()['shardwheel_alarms_total{result="grouped"}'] == 7

    good = tables.add_log(job, trigger_code=200, handle_code=0)
    node.post("/api/callback", [callback_entry(good)], TOKEN)
    wait_until(lambda: len(hooks.at("json")) == 3, 25, "the recovery")
    assert hooks.at("json")[2].json["event"] == "job_recovered"
    again = fail(tables, job)
    settled(tables, again, 2)
    tables.add_log(job, trigger_code=200, handle_code=200)
    wait_until(lambda: len(hooks.at("json")) >= 5, 60, "what came after the quiet time")
    assert [c.json["event"] for c in hooks.at("json")[3:]] == ["job_failed", "job_recovered"]


def test_a_receiver_that_is_away_holds_up_nobody(world, hooks):
    """Neither others, nor other jobs, nor retries; one that refuses is not asked again."""
    tables = world.tables
    group = tables.add_group("app-x", [])
    hooks.hanging.add("json-slow")
    hooks.replies["wecom"] = (200, '{"errcode":93000,"errmsg":"invalid webhook url"}')
    hooks.replies["dingtalk"] = (200, '{"errcode":130101,"errmsg":"send too fast"}')
    node = world.node(keys=channels(
        f"json={hooks.url('json-slow')} name=slow", f"json={hooks.url('json-fine')}",
        f"wecom={hooks.url('wecom')}?key=k", dingtalk(hooks), "json=http://127.0.0.1:1/ name=nobody"))
    logs = [fail(tables, idle_job(tables, group)) for _ in range(20)]

    wait_until(lambda: len(hooks.at("json-fine")) == 20, PASS, "the messages to the one that is fine")
    assert all(tables.log(log_id)["alarm_status"] == -1 for log_id in logs)
    hooks.replies.pop("dingtalk")
    wait_until(lambda: hooks.at("dingtalk"), 45, "a try after too many")
    assert hooks.at("dingtalk")[0].text.startswith("20 alarms:"), "what waited goes out as one message"
    hooks.hanging.clear()
    hooks.release.set()
    for log_id in logs:
        settled(tables, log_id, 3, 120)
    assert len(hooks.at("json-slow")) == 20 and len(hooks.at("json-fine")) == 20
    text = node.log_text()
    refused = re.findall(r"event=alarm_refused channel=wecom job=(\d+) .*invalid webhook url", text)
    assert refused and len(set(refused)) == len(refused), f"none is asked again: {refused}"
    assert text.count("event=receiver_away channel=nobody") == 1
    assert text.count("event=receiver_back channel=slow") == 1


@pytest.mark.slow
def test_an_alarm_that_is_due_when_its_node_dies_is_told_by_another(cluster, hooks):
    tables = cluster.tables
    group = tables.add_group("app-x", [])
    keys = channels(f"json={hooks.url('json')}")
    hooks.hanging.add("json")
    a = cluster.node("node-a", keys=keys)
    job = idle_job(tables, group)
    log_id = fail(tables, job)
    settled(tables, log_id, -1)
    foreign = tables.add_log(idle_job(tables, group), trigger_code=500, alarm_status=-1)  # a Java admin's
    a.kill()
    hooks.hanging.clear()

    b = cluster.node("node-b", keys=keys)
    c = cluster.node("node-c", keys=keys)

    settled(tables, log_id, 2, 60)
    assert [call.json["logId"] for call in hooks.at("json")] == [log_id]
    assert hooks.at("json")[0].json["node"] in ("node-b", "node-c")
    assert tables.log(foreign)["alarm_status"] == -1
    more = [fail(tables, idle_job(tables, group)) for _ in range(30)]
    for more_id in more:
        settled(tables, more_id, 2, 30)
    assert sorted(call.json["logId"] for call in hooks.at("json")) == [log_id] + more, "two nodes told the same"
    # The one that tells stops: the other one goes on at once.
    teller, rest = (b, c) if "event=telling" in b.log_text() else (c, b)
    assert teller.terminate() == 0
    last = fail(tables, idle_job(tables, group))
    settled(tables, last, 2, 25)
    assert hooks.at("json")[-1].json["node"] == rest.name


@pytest.mark.slow
def test_executors_that_are_gone_are_told(world, hooks):
    """A row that goes when it is old is a death, a young one a word of its executor; an empty group is told after a
    minute."""
    tables = world.tables
    for app in ("beating-app", "leaving-app"):
        tables.execute("INSERT INTO xxl_job_group (app_name, title, address_type, address_list, update_time) VALUES "
                       "(%s, 't', 0, NULL, UTC_TIMESTAMP())", (app,))
    rows = [("beating-app", "http://dead/", 82), ("beating-app", "http://fine/", -60),
            ("beating-app", "http://left/", 0), ("no-group", "http://dead/", 82), ("leaving-app", "http://x/", 0)]
    node = world.node(keys=channels(f"json={hooks.url('json')}",
                                    f"wecom={hooks.url('wecom')}?key=k groups=leaving-app"))
    for row in rows:
        tables.execute("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) "
                       "VALUES ('EXECUTOR', %s, %s, UTC_TIMESTAMP() - INTERVAL %s SECOND)", row)
    wait_until(lambda: node.metrics()["shardwheel_executors"] == 5, 25, "the executors to be seen")

    tables.execute("DELETE FROM xxl_job_registry WHERE registry_value <> 'http://fine/'")

    call, = wait_until(lambda: hooks.at("json"), 25, "the notice")
    assert call.json["event"] == "executor_offline" and call.json["app"] == "beating-app"
    assert call.json["title"] == "Executor offline: beating-app"
    assert "http://dead/" in call.json["text"] and "http://left/" not in call.json["text"]
    assert "1 other is left" in call.json["text"]
    wait_until(lambda: hooks.at("wecom"), 90, "the notice about the empty group")
    assert hooks.at("wecom")[0].text.startswith("Executor group is empty: leaving-app\n")
    wait_until(lambda: len(hooks.at("json")) > 1, 60, "the same at the other channel")
    assert [c.json["app"] for c in hooks.at("json")] == ["beating-app", "leaving-app"]


def alarm_test(keys, *arguments):
    return run_shardwheel(["ctl", "alarm-test", *arguments, *options(keys)])


def test_alarm_test_says_who_took_it_and_why_not(world, hooks, mail_server, tmp_path):
    base = {**world.keys(), **mail_server.keys()}
    good = channels(dingtalk(hooks), feishu(hooks), f"slack={hooks.url('slack')} groups=pay-app")

    result = alarm_test({**base, **good})
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout == "mail to admin@example.org: ok\ndingtalk: ok\nfeishu: ok\nslack: ok\n"
    result = alarm_test({**base, **good}, "--group", "other-app", "--json")
    assert [c["channel"] for c in json.loads(result.stdout)["channels"]] == ["mail", "dingtalk", "feishu"]

    bad = channels(f"dingtalk={hooks.url('dingtalk')}?access_token=t secret=wrong", "json=http://127.0.0.1:1/",
                   f"slack={hooks.url('slack')}")
    result = alarm_test({**base, **bad}, "--json")
    found = {c["channel"]: c for c in json.loads(result.stdout)["channels"]}
    assert result.returncode == 1 and json.loads(result.stdout)["ok"] is False
    assert found["slack"]["ok"] and found["mail"]["ok"]
    assert found["dingtalk"]["error"] == "code 310000: sign" and "connect" in found["json"]["error"]

    secure = Webhooks(tls=str(tmp_path))
    try:
        url = channels(f"slack={secure.url('slack')}")
        result = alarm_test({**base, **url})
        assert result.returncode == 1 and "certificate" in result.stdout
        assert alarm_test({**base, **url, "shardwheel.alarm.ca": secure.ca}).returncode == 0
    finally:
        secure.close()

    for keys, words in (
            ({"shardwheel.alarm.text": "ab {what}"}, "shardwheel.alarm.text: character 4: unknown placeholder {what}"),
            (channels("slack=ftp://x/SECRET"), "shardwheel.alarm.channels: word 1: "),
            (channels("slack=https://x/SECRET secret=y"), "shardwheel.alarm.channels: word 2: "),
    ):
        result = alarm_test({**base, **good, **keys})
        assert result.returncode == 2 and words in result.stderr and "SECRET" not in result.stderr


def test_wrong_settings_are_told_at_start(world):
    result = run_shardwheel(options({**world.keys(), "shardwheel.alarm.title": "{job"}))
    assert result.returncode == 1
    assert "shardwheel.alarm.title: character 1: a brace without the other one" in result.stderr


def test_webhooks_of_the_console_count_on_all_nodes_while_they_run(world, hooks):
    """Set by a call, they are told of failures without a restart, on record with what came of it; the settings win."""
    tables = world.tables
    group = tables.add_group("pay-app", [])
    other = tables.add_group("other-app", [])
    nodes = [world.node(keys=channels(f"slack={hooks.url('slack-file')} name=chat groups=nobody"))]
    admin = Api(nodes[0], add_token(tables, add_user(tables, "alarm-admin", role=1)))
    person = Api(nodes[0], add_token(tables, add_user(tables, "alarm-user", groups=[other])))
    url = hooks.url("json") + "?key=hidden-part"

    added = admin.good("POST", "/alarms/channels", {"kind": "json", "url": url, "secret": JSON_SECRET}, status=201)
    admin.good("POST", "/alarms/channels", {"kind": "slack", "url": hooks.url("slack"), "groups": ["other-app"]},
               status=201)
    admin.refused("POST", "/alarms/channels", {"kind": "slack", "url": url, "name": "chat"}, kind="taken")
    admin.refused("POST", "/alarms/channels", {"kind": "slack", "url": "http://169.254.169.254/"}, field="url")
    assert person.call("POST", "/alarms/channels", {"kind": "json", "url": url}).status == 403
    wait_until(lambda: "settings_and_console=3" in nodes[0].log_text(), PASS, "the node to take them up")

    settled(tables, fail(tables, idle_job(tables, group, job_desc="pays")), 2)
    assert len(hooks.at("json")) == 1 and hooks.at("slack") == []
    theirs = idle_job(tables, other, job_desc="others")
    hooks.replies["slack"] = (404, "no_team")
    settled(tables, fail(tables, theirs), 3)

    def sent(**query):
        return admin.good("GET", "/alarms/sent?" + "&".join(f"{k}={v}" for k, v in query.items()))["items"]

    wait_until(lambda: len(sent()) == 3, PASS, "what was told to be on record")
    lost = sent(failed="true")
    assert [(m["channel"], m["jobId"], m["jobName"], m["ok"]) for m in lost] == [("slack", theirs, "others", False)]
    assert lost[0]["error"] == "HTTP status 404: no_team"
    assert {m["jobId"] for m in person.good("GET", "/alarms/sent")["items"]} == {theirs}
    assert [m["channel"] for m in sent(channel="json")] == ["json", "json"]

    admin.good("PATCH", f"/alarms/channels/{added['id']}", {"groups": ["other-app"], "secret": None}, status=204)
    shown = next(c for c in admin.good("GET", "/alarms/channels")["items"] if c["id"] == added["id"])
    assert (shown["groups"], shown["hasSecret"], shown["host"]) == (["other-app"], False, hooks.url("").rstrip("/"))
    admin.good("DELETE", f"/alarms/channels/{added['id']}", status=204)
    wait_until(lambda: "settings_and_console=2" in nodes[0].log_text(), PASS, "the node to let it go")
    settled(tables, fail(tables, idle_job(tables, group)), 2)
    assert len(hooks.at("json")) == 2

    audit = admin.call("GET", "/audit?kind=channel").text
    assert [row["action"] for row in json.loads(audit)["items"]] == [
        "channel.remove", "channel.update", "channel.add", "channel.add"]
    for text in (audit, admin.call("GET", "/alarms/channels").text, nodes[0].log_text()):
        assert "hidden-part" not in text and JSON_SECRET not in text


def test_a_setting_keeps_webhooks_out_of_the_console(world, hooks):
    node = world.node(keys={"shardwheel.alarm.console-channels": "off"})
    admin = Api(node, add_token(world.tables, add_user(world.tables, "alarm-admin", role=1)))
    admin.refused("POST", "/alarms/channels", {"kind": "json", "url": hooks.url("json")}, 403, kind="off")
    assert admin.good("GET", "/alarms/channels") == {"mail": False, "canAdd": False, "items": []}


def test_flows_that_fail_are_late_and_work_again(world, hooks, mail_server):
    """Once each, to the addresses of the document and the channels of its groups; steps that are flows do not count."""
    keys = {**mail_server.keys(), "shardwheel.alarm.every": "1h", "shardwheel.alarm.offline": "off",
            **channels(f"json={hooks.url('json')}", f"json={hooks.url('json-mine')} groups=flow-app,other",
                       f"json={hooks.url('json-other')} groups=other")}
    flows = Flows(world, keys=keys, app_name="flow-app")
    tables, node = world.tables, flows.node
    work = flows.add_job("work", executor_fail_retry_count=0)
    inner = flows.add("inner", steps=[{"name": "a", "type": "job", "jobId": work}])
    flow = flows.add("nightly", alarm=["ops@example.org", "boss@example.org"], steps=[
        {"name": "load", "type": "job", "jobId": work}, {"name": "sub", "type": "flow", "flow": "inner"}],
        edges=[{"from": "load", "to": "sub"}])

    def run(*codes):
        done = len(flows.executor.runs(work))
        one = flows.start(flow)
        for n, code in enumerate(codes):
            flows.answer(node, work, "no disk" if code == 500 else "ok", code, nth=done + n)
        flows.wait_end(one)
        return one

    def told(path="json"):
        return [(c.json["event"], c.json["runId"]) for c in hooks.at(path) if "flow" in c.json["event"]]

    run(200, 200)
    first = run(500)
    wait_until(lambda: len(told()) == 1, PASS, "the failure")
    run(200, 500)  # it fails still
    good = run(200, 200)
    run(200, 200)
    for path in ("json", "json-mine"):
        wait_until(lambda: len(told(path)) == 2, PASS, f"the end of the failures at {path}")
        assert told(path) == [("flow_failed", first), ("flow_recovered", good)]
    assert told("json-other") == []
    message = next(c.json for c in hooks.at("json") if c.json["event"] == "flow_failed")
    assert (message["flow"], message["flowId"], message["app"]) == ("nightly", flow, "flow-app")
    assert message["reason"] == "step load: no disk" and message["title"] == f"Flow failed: nightly (run {first})"

    def mailed():
        return sorted(r for m in mail_server.mails if "nightly" in m.message["Subject"] for r in m.recipients)

    wait_until(lambda: len(mailed()) == 4, PASS, "the mails")
    assert mailed() == ["boss@example.org"] * 2 + ["ops@example.org"] * 2

    late = flows.add("late", deadline=1, steps=[{"name": "a", "type": "approval", "text": "?"}])
    hooks.replies["json"] = (500, "")
    one = flows.start(late)
    wait_until(lambda: "event=receiver_away" in node.log_text(), PASS, "a try")
    assert tables.value("SELECT event FROM shardwheel_flow_alarm") == "late"
    hooks.replies.clear()
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_flow_alarm") == 0, 30, "the message to be taken")
    assert told()[2:] == [("flow_late", one)] and told("json-mine")[2:] == []
    assert "has not ended after 1 s" in hooks.at("json")[-1].json["reason"]
    assert tables.value("SELECT COUNT(*) FROM shardwheel_flow WHERE failing = 1") == 0
    assert inner
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM shardwheel_told WHERE event = 'flow_late'"), PASS, "the note")


def test_what_is_to_be_told_of_flows_waits_for_a_node(world, hooks):
    flows = Flows(world, keys=channels(f"json={hooks.url('json')}"))
    flow = flows.add("late", steps=[{"name": "a", "type": "approval", "text": "?"}])
    flows.node.kill()
    world.tables.insert("shardwheel_flow_alarm", {"flow_id": flow, "run_id": 77, "event": "failed", "at_ms": 1 << 42})
    world.tables.insert("shardwheel_flow_alarm", {"flow_id": 999, "run_id": 78, "event": "late", "at_ms": 1 << 42})
    flows.node.start()
    wait_until(lambda: hooks.at("json"), 45, "the message")
    wait_until(lambda: world.tables.value("SELECT COUNT(*) FROM shardwheel_flow_alarm") == 0, PASS, "the rows to go")
    assert [c.json["runId"] for c in hooks.at("json")] == [77]
