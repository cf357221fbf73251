# SPDX-License-Identifier: MIT
"""What becomes of runs that failed: retries, each once, and alarms by mail."""
import re
import threading
import time

import pytest

from harness.executors import Reply, callback_entry
from harness.mail import MailServer
from harness.cluster import TOKEN
from harness.process import wait_until

PERIOD = 10  # seconds between two passes of the failure monitor
UNKNOWN = "delivery unknown: the node that was to send this went away; it may have reached its executor or not"


def planned_mark(due, epoch=1):
    return f"<!--sw:p:{due}:{epoch}-->"


def settled(tables, log_id, status, seconds=2 * PERIOD + 5):
    """Waits until the monitor has dealt with the row; the row."""

    def done():
        row = tables.log(log_id)
        assert row["alarm_status"] == status, f"alarm_status is {row['alarm_status']}"
        return row

    return wait_until(done, seconds, f"alarm_status {status} of log {log_id}")


def retry_of(tables, job, log_id):
    """The row that was made for that one."""
    rows = [row for row in tables.logs(job) if row["id"] > log_id]
    assert len(rows) == 1, f"{len(rows)} retries: {tables.brief(job)}"
    return rows[0]


def add_idle_job(tables, group, handler, **columns):
    """A stopped job: nothing but retries fires it."""
    return tables.add_job(group, handler, **{"trigger_status": 0, "trigger_next_time": 0, **columns})


@pytest.fixture(params=["2.3", "3.4", "3.4 on mysql8"])
def generation(request, make_world):
    server = request.getfixturevalue("mysql8" if "mysql8" in request.param else "mariadb")
    return make_world(server, family=request.param.split()[0])


@pytest.mark.asan
def test_failed_fires_are_retried_as_the_original_does(generation):
    world, tables = generation, generation.tables
    executors = [world.executor() for _ in range(3)]
    first = executors[0]
    group = world.group(*executors)
    text = "it's a \"test\" with \\ and 😀 <b>%s</b>"
    refusals = []

    def flaky(request):
        refusals.append(request.logId)

    first.replies["flaky"] = Reply({"code": 500, "msg": "no <b>room</b> 😀"}, before=flaky)
    flaky_job, _ = tables.add_single_fire(group, 2, "flaky", executor_fail_retry_count=3, executor_param=text)
    now = int(time.time())
    job = add_idle_job(tables, group, "plain", executor_param="of the job", executor_fail_retry_count=9)
    broadcast = add_idle_job(tables, group, "plain", executor_route_strategy="SHARDING_BROADCAST")
    failed = {"trigger_code": 500, "trigger_msg": planned_mark(now - 60) + UNKNOWN, "executor_handler": "old",
              "job_group": group}
    unknown = tables.add_log(job, **failed, executor_param=text, executor_fail_retry_count=1)
    late = tables.add_log(job, **failed, executor_param="late", executor_fail_retry_count=1, handle_code=200)
    spent = tables.add_log(job, **failed, executor_param="spent")
    open_row = tables.add_log(job, job_group=group, trigger_code=0, trigger_msg=planned_mark(now + 3000),
                              executor_param="open", executor_fail_retry_count=5)
    of_java = tables.add_log(job, job_group=group, trigger_code=0, trigger_msg=None, executor_fail_retry_count=5)
    long = "<!--sw:p:1:1-->" + "ü" * ((65535 - 15) // 2)
    filled = tables.add_log(job, **{**failed, "trigger_msg": long}, executor_param="filled",
                            executor_fail_retry_count=2)
    handled = tables.add_log(job, job_group=group, trigger_code=200, handle_code=502, executor_param=None,
                             executor_fail_retry_count=1)
    numbered = tables.add_log(job, **failed, executor_param="numbered", executor_sharding_param="2/5",
                              executor_fail_retry_count=1)
    shard = tables.add_log(broadcast, **failed, executor_param="shard", executor_sharding_param="1/3",
                           executor_fail_retry_count=1)
    left = tables.add_log(broadcast, **failed, executor_param="left", executor_sharding_param="7/8",
                          executor_fail_retry_count=1)
    gone = tables.add_log(987654, **failed, executor_fail_retry_count=3)
    mail_job = add_idle_job(tables, group, "plain", alarm_email="somebody@example.org")
    untold = tables.add_log(mail_job, **failed)

    node = world.node()

    for log_id in (unknown, spent, filled, handled, numbered, shard, left):
        settled(tables, log_id, 2)
    assert tables.log(gone)["alarm_status"] == 1 and len(tables.logs(987654)) == 1
    assert tables.log(untold)["alarm_status"] == 3
    for log_id in (late, open_row, of_java):
        assert tables.log(log_id)["alarm_status"] == 0

    def runs(param):
        return [(executors.index(e), r) for e in executors for r in e.runs() if r.json.get("executorParams") == param]

    params = [text, "filled", "of the job", "numbered", "shard", "left"]
    wait_until(lambda: all(runs(param) for param in params), 10, f"the retries: {[len(runs(p)) for p in params]}")
    at, run = next((i, r) for i, r in runs(text) if r.jobId == job)
    row = tables.log(run.logId)
    assert (at, run.executorHandler, run.broadcastIndex, run.broadcastTotal) == (0, "plain", 0, 1)
    assert (row["executor_param"], row["executor_handler"], row["executor_fail_retry_count"]) == (text, "plain", 0)
    assert tables.log(unknown)["trigger_msg"].startswith(planned_mark(now - 60) + UNKNOWN + "<br><br><span")
    assert f"retry: sent again as log {run.logId}</span>" in tables.log(unknown)["trigger_msg"]
    assert not runs("late") and not runs("spent") and not runs("open")

    message = tables.log(filled)["trigger_msg"]
    assert message.startswith("<!--sw:p:1:1-->üü") and re.search(r"</span><!--sw:r:\d+-->$", message)
    assert 65000 < len(message.encode()) <= 65535
    (at, run), = runs("numbered")
    assert (at, run.broadcastIndex, run.broadcastTotal) == (0, 2, 5)
    assert tables.log(run.logId)["executor_sharding_param"] is None
    (at, run), = runs("shard")
    assert (at, run.broadcastIndex, run.broadcastTotal) == (1, 1, 3)
    assert tables.log(run.logId)["executor_sharding_param"] == "1/3"
    (at, run), = runs("left")
    assert (at, run.broadcastIndex, run.broadcastTotal) == (0, 7, 8)

    # The refusals: each attempt has a row of its own, with one retry less.
    wait_until(lambda: len(refusals) >= 2, 2 * PERIOD + 5, "the second refusal")
    first.replies["flaky"] = Reply()
    rows = tables.wait_logs(flaky_job, "trigger_code = 200", 1, 2 * PERIOD + 5) and tables.logs(flaky_job)
    settled(tables, rows[1]["id"], 2)
    rows = tables.logs(flaky_job)
    assert [row["executor_fail_retry_count"] for row in rows] == [3, 2, 1]
    assert [row["trigger_code"] for row in rows] == [500, 500, 200]
    assert [row["executor_param"] for row in rows] == [text] * 3
    assert rows[1]["trigger_msg"].startswith("<!--sw:d:") and "trigger type: retry<br>" in rows[1]["trigger_msg"]
    assert f"as log {rows[2]['id']}<" in rows[1]["trigger_msg"]
    node.post("/api/callback", [callback_entry(rows[2]["id"])], TOKEN)
    assert tables.log(rows[2]["id"])["handle_code"] == 200

    metrics = node.metrics()
    assert metrics["shardwheel_retries_total"] == 2 + 6
    assert metrics['shardwheel_alarms_total{result="no_address"}'] == 2 + 7
    assert metrics['shardwheel_alarms_total{result="job_gone"}'] == 1
    assert metrics['shardwheel_alarms_total{result="failed"}'] == 1
    assert node.log_text().count("event=alarms_off") == 1


def test_run_that_fails_long_after_it_began_is_retried(world):
    """Its row is looked at again as long as it has no end, however many came after it."""
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    job = add_idle_job(tables, group, "plain")
    old = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() - 3 * 24 * 3600))
    log_id = tables.add_log(job, job_group=group, executor_fail_retry_count=1, executor_param="old", trigger_time=old)
    for _ in range(5):
        tables.add_log(job, job_group=group, handle_code=200)
    node = world.node()
    wait_until(lambda: node.metrics()["shardwheel_log_rows_watched"] >= 1, 2 * PERIOD, "the row to be watched")

    node.post("/api/callback", [callback_entry(log_id, 500, "broke")], TOKEN)

    settled(tables, log_id, 2)
    executor.wait_runs(job)
    assert len(executor.runs(job)) == 1


def test_two_nodes_make_one_retry_of_each_failure(cluster):
    tables = cluster.tables
    executor = cluster.executor()
    group = cluster.group(executor)
    job = add_idle_job(tables, group, "plain")
    a, b = cluster.node("node-a"), cluster.node("node-b")
    count = 1500

    with tables.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO xxl_job_log (job_group, job_id, executor_param, executor_fail_retry_count, trigger_time,"
            " trigger_code, trigger_msg, handle_code) VALUES (%s, %s, %s, 1, UTC_TIMESTAMP(), 500, '', 0)",
            [(group, job, f"p{i}") for i in range(count)],
        )

    wait_until(lambda: len(executor.runs(job)) >= count, 60, f"{count} retries, not {len(executor.runs(job))}")
    wait_until(lambda: len(tables.logs(job, "trigger_code = 200")) == count, 10, "their results")
    wait_until(lambda: not tables.logs(job, "trigger_code = 500 AND alarm_status <> 2"), 10, "the end of all")
    assert sorted(r.executorParams for r in executor.runs(job)) == sorted(f"p{i}" for i in range(count))
    assert len(tables.logs(job)) == 2 * count
    assert sum(n.metrics()["shardwheel_retries_total"] for n in (a, b)) == count


@pytest.mark.slow
def test_retry_in_flight_of_a_killed_node_is_ended_and_retried_by_another(cluster):
    tables = cluster.tables
    executor = cluster.executor()
    group = cluster.group(executor)
    job = add_idle_job(tables, group, "slow")
    answer = threading.Event()
    executor.replies["slow"] = Reply(until=answer)
    failed = tables.add_log(job, job_group=group, trigger_code=500, executor_fail_retry_count=2, executor_param="x")
    a = cluster.node("node-a")
    executor.wait_runs(job, 1, 2 * PERIOD)
    first = retry_of(tables, job, failed)
    a.kill()
    killed_at = time.time()
    executor.replies["slow"] = Reply()
    # A node that lives keeps its own, whatever their age.
    now_ms = int(time.time() * 1000)
    tables.execute(
        "INSERT INTO shardwheel_node (incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, drain,"
        " release_shard) VALUES ('feedfeedfeedfeed', 'x', '', '', 0, %s, 0, 0, 0, -1)", (now_ms + 3600_000,),
    )
    live = tables.add_log(
        job, job_group=group, trigger_code=0, trigger_msg=f"<!--sw:d:feedfeedfeedfeed:{now_ms // 1000 - 100}:R-->"
    )

    b = cluster.node("node-b")
    executor.wait_runs(job, 2, 110)
    assert time.time() - killed_at > 40, "it was ended while its node might still have lived"
    answer.set()

    row = tables.log(first["id"])
    assert (row["trigger_code"], row["handle_code"]) == (500, 0)
    assert row["trigger_msg"].startswith("<!--sw:d:") and UNKNOWN in row["trigger_msg"]
    second = retry_of(tables, job, max(first["id"], live))
    assert (second["executor_param"], second["executor_fail_retry_count"]) == ("x", 0)
    assert [r.logId for r in executor.runs(job)] == [first["id"], second["id"]]
    assert tables.log(live)["trigger_code"] == 0
    assert b.metrics()['shardwheel_fires_total{outcome="delivery_unknown"}'] == 1


def test_retry_that_waits_is_not_made_after_a_late_callback(world):
    """A row that ended as unknown and whose run reports success before the monitor comes by."""
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    job = add_idle_job(tables, group, "plain")
    node = world.node()
    settled(tables, tables.add_log(job, job_group=group, trigger_code=500), 2)  # the monitor's next pass is far
    for _ in range(3):
        log_id = tables.add_log(job, job_group=group, trigger_code=500, executor_fail_retry_count=1,
                                trigger_msg=planned_mark(int(time.time())) + UNKNOWN)
        node.post("/api/callback", [callback_entry(log_id)], TOKEN)
        assert tables.log(log_id)["handle_code"] == 200
    marker = tables.add_log(job, job_group=group, trigger_code=500)

    settled(tables, marker, 2)

    assert executor.runs(job) == [] and len(tables.logs(job)) == 5
    assert not tables.logs(job, "handle_code = 200 AND alarm_status <> 0")


@pytest.fixture
def mail_server():
    server = MailServer()
    yield server
    server.close()


def test_alarms_by_mail_and_their_states(world, mail_server):
    tables = world.tables
    group = tables.add_group("mailgroup", [])
    name = "日报 \"daily\" <b>& more</b> 😀"
    mail_server.refused.add("nobody@example.org")
    jobs = {
        emails: add_idle_job(tables, group, "plain", alarm_email=emails, job_desc=name)
        for emails in (" a@example.org , b@example.org,a@example.org,", "nobody@example.org,c@example.org",
                       "evil@example.org\r\nBcc: d@example.org", "x <e@example.org>,no address", " , ")
    }
    failed = {"job_group": group, "trigger_code": 500, "trigger_msg": "<!--sw:p:1:1-->no <i>way</i><br>ü &lt;x&gt;"}
    logs = [tables.add_log(job, **failed) for job in jobs.values()]
    node = world.node(keys={**mail_server.keys(), "shardwheel.alarm.every": "0"})

    settled(tables, logs[0], 2)
    handled = tables.add_log(list(jobs.values())[0], job_group=group, handle_code=500, handle_msg="broke 😀 <script>",
                             trigger_msg="sent fine")
    settled(tables, logs[1], 3)
    settled(tables, logs[2], 3)
    settled(tables, logs[3], 3)
    settled(tables, logs[4], 2)
    settled(tables, handled, 2)

    assert sorted(m.recipients[0] for m in mail_server.mails) == [
        "a@example.org", "a@example.org", "b@example.org", "b@example.org", "c@example.org", "e@example.org"]
    assert all(m.recipients == [a.addr_spec for a in m.message["To"].addresses] for m in mail_server.mails)
    assert all("admin@example.org" in m.sender and "admin@example.org" in m.message["From"] for m in mail_server.mails)
    assert not any("Bcc" in m.message for m in mail_server.mails)
    first = next(m for m in mail_server.mails if f"<td>{logs[0]}</td>" in m.text)
    assert name in first.message["Subject"]
    assert first.message.get_content_charset().lower() == "utf-8"
    assert "日报 &quot;daily&quot; &lt;b&gt;&amp; more&lt;/b&gt; 😀" in first.text
    assert "no &lt;i&gt;way&lt;/i&gt;<br>ü &lt;x&gt;" in first.text
    assert "mailgroup" in first.text and "sw:p" not in first.text
    assert "handle message" not in first.text
    of_run = next(m for m in mail_server.mails if f"<td>{handled}</td>" in m.text)
    assert "broke 😀 &lt;script&gt;" in of_run.text and "sent fine" not in of_run.text
    metrics = node.metrics()
    assert metrics['shardwheel_alarms_total{result="sent"}'] == 2
    assert metrics['shardwheel_alarms_total{result="failed"}'] == 3
    assert metrics['shardwheel_alarms_total{result="no_address"}'] == 1
    assert node.log_text().count("event=alarm_refused") == 1


def test_mail_server_that_is_away_or_silent_holds_no_retry_up(world, mail_server):
    """And gets its mails when it is back."""
    tables = world.tables
    executor = world.executor()
    group = world.group(executor)
    jobs = [add_idle_job(tables, group, "plain", alarm_email="a@example.org") for _ in range(5)]
    mail_server.hang.set()
    failed = {"job_group": group, "trigger_code": 500}
    held = [tables.add_log(job, **failed, executor_fail_retry_count=1) for job in jobs]
    node = world.node(keys=mail_server.keys())

    # The first mail waits for 10 s; the retries do not.
    for job in jobs:
        executor.wait_runs(job, 1, 8)
    assert tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE alarm_status = -1") == 5
    wait_until(lambda: node.log_text().count("event=receiver_away channel=mail") == 1, 15, "the mail server's silence")
    assert mail_server.connections <= 3
    mail_server.close()
    mail_server.hang.clear()
    mail_server.start()

    for log_id in held:
        settled(tables, log_id, 2, 45)
    assert len(mail_server.mails) == 5
    assert node.log_text().count("event=receiver_back channel=mail") == 1


@pytest.mark.parametrize("password, trust, status", [("right", "*", 2), ("wrong", "*", 3), ("right", "", 3)])
def test_login_and_starttls(world, tmp_path, password, trust, status):
    server = MailServer(login=("user", "right"), tls=str(tmp_path))
    try:
        tables = world.tables
        job = add_idle_job(tables, tables.add_group("g", []), "plain", alarm_email="a@example.org")
        log_id = tables.add_log(job, trigger_code=500)
        node = world.node(keys={
            **server.keys(), "spring.mail.username": "user", "spring.mail.password": password,
            "spring.mail.properties.mail.smtp.auth": "true",
            "spring.mail.properties.mail.smtp.starttls.required": "true",
            "spring.mail.properties.mail.smtp.ssl.trust": trust,
        })

        settled(tables, log_id, status)

        assert len(server.mails) == (1 if status == 2 else 0)
        assert password not in node.log_text()
    finally:
        server.close()


def test_node_that_stops_leaves_its_alarms_to_the_next_one(world, mail_server):
    tables = world.tables
    group = tables.add_group("g", [])
    mail_server.hang.set()
    logs = [tables.add_log(add_idle_job(tables, group, "plain", alarm_email="a@example.org"), trigger_code=500)
            for _ in range(30)]
    node = world.node(keys=mail_server.keys())
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE alarm_status = -1") == 30,
               15, "locked rows")

    assert node.terminate() == 0

    assert tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE alarm_status = -1") == 30
    mail_server.close()
    mail_server.hang.clear()
    mail_server.start()
    world.node("node-b", keys=mail_server.keys())
    for log_id in logs:
        settled(tables, log_id, 2)
    assert len(mail_server.mails) == 30
