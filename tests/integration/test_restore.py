# SPDX-License-Identifier: MIT
"""A backup under load, a restore, and shardwheelctl after-restore: nothing that may have run is sent again."""
import csv
import json
import os
import subprocess
import time

from harness.cluster import TOKEN
from harness.executors import callback_entry
from harness.flows import Flows
from harness.jobs import due_second
from harness.process import wait_until

FIRES = 60  # per second


def dump(world):
    """A logical backup while the nodes work; its path."""
    path = os.path.join(world.folder, "backup.sql")
    with open(path, "wb") as out:
        subprocess.run(["mariadb-dump", "--no-defaults", f"--socket={world.server.socket}", "--user=root",
                        "--single-transaction", world.tables.database], stdout=out, check=True, timeout=60)
    return path


def restore(world, path):
    with open(path, "rb") as text:
        subprocess.run(["mariadb", "--no-defaults", f"--socket={world.server.socket}", "--user=root",
                        world.tables.database], stdin=text, check=True, timeout=60)
    world.tables.reconnect()


def arrivals(executor):
    """(job, due second, log id, arrival second) of each run; the jobs are due once in ten seconds, at their phase."""
    with open(executor.arrivals_path, newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["port"]]
    return [(int(r["job_id"]), int(r["log_date_time_ms"]) // 1000, int(r["log_id"]), int(r["arrival_wall_us"]) / 1e6)
            for r in rows]


def ctl_json(world, *arguments):
    done = world.ctl("after-restore", "--json", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def cluster_state(tables):
    return [tables.rows(f"SELECT * FROM {name} ORDER BY 1, 2") for name in (
        "shardwheel_shard", "shardwheel_cursor", "shardwheel_takeover", "shardwheel_primary", "shardwheel_later",
        "shardwheel_session")] + \
        [tables.rows("SELECT id, trigger_status, trigger_last_time, trigger_next_time FROM xxl_job_info ORDER BY id"),
         tables.rows("SELECT id, trigger_code, handle_code, alarm_status, trigger_msg FROM xxl_job_log ORDER BY id")]


def test_nothing_from_before_a_restore_is_sent_again(cluster):
    tables = cluster.tables
    nodes = [cluster.node("node-a"), cluster.node("node-b")]
    load = cluster.load_executor(nodes, addresses=4)
    slow = cluster.executor()
    tables.add_load(tables.add_group("load", load.addresses), FIRES)
    others = cluster.group(slow)
    long_run = tables.add_job(others, cron="0 0 0 1 1 ?", next_in=2, executor_fail_retry_count=2)
    far, far_due = tables.add_single_fire(others, 300)
    running = slow.wait_runs(long_run)[0].json["logId"]
    load.wait_arrivals(FIRES * 3, 20)
    # Beyond what is planned when the backup is made, and due before the restore.
    rate = tables.add_job(others, schedule_type="FIX_RATE", cron="7", next_in=20)
    ended, ended_due = tables.add_single_fire(others, 21)
    soon = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(time.time() + 20))
    assert cluster.ctl("trigger", str(long_run), "--at", soon).returncode == 0
    tables.execute("INSERT INTO shardwheel_session VALUES "
                   "(REPEAT('a', 64), 1, REPEAT('b', 64), 1, 1, 1 << 60, 1, '', '', NULL)")

    backup = dump(cluster)
    assert nodes[0].post("/api/callback", [callback_entry(running)], TOKEN).code == 200  # is lost with the restore
    wait_until(lambda: time.time() > ended_due + 1, 25, "what is due behind the backup")
    for node in nodes:
        node.kill()
    lost_ids = tables.value("SELECT MAX(id) FROM xxl_job_log")
    restore(cluster, backup)
    assert tables.value("SELECT MAX(id) FROM xxl_job_log") < lost_ids

    # It is refused while somebody lives, and tries what is asked for without a trace.
    tables.execute("INSERT INTO shardwheel_node SELECT 'f', 'fresh', '', '', 1, beat_ms + 60000, 0, 0, 0, -1, 1 "
                   "FROM shardwheel_node LIMIT 1")
    refused = cluster.ctl("after-restore")
    assert refused.returncode == 1 and "node fresh is running" in refused.stderr, refused.stderr
    tables.execute("DELETE FROM shardwheel_node WHERE node = 'fresh'")
    before = cluster_state(tables)
    planned = set(tables.open_rows())
    tried = ctl_json(cluster, "--dry-run")
    assert tried["dryRun"] and not tried["done"] and cluster_state(tables) == before

    done = ctl_json(cluster)
    at_s, first_id = done["atSeconds"], done["firstLogId"]
    assert done["done"] and first_id > lost_ids, (first_id, lost_ids)
    assert tables.job(far)["trigger_next_time"] == far_due * 1000
    check_tables(tables, done, planned, dict(long_run=long_run, rate=rate, ended=ended, running=running))
    listed = {(job["job"], s) for job in done["jobs"] for s in range(job["firstSeconds"], job["lastSeconds"] + 1)}
    sent = arrivals(load)
    assert not [a for a in sent if a[1] > done["fromSeconds"] and (a[0], a[1]) not in listed]

    for node in nodes:
        node.start()
    wait_until(lambda: any(a[1] > at_s + 6 for a in arrivals(load)), 25, "fires that are due after the restore")
    wait_until(lambda: all_arrived(cluster, load, at_s + 1, at_s + 5), 20, "all fires of the first seconds after it")
    assert len(slow.runs(ended)) <= 1
    assert len(slow.runs(long_run)) == 2  # itself, and the trigger in the lost time
    seen = arrivals(load)
    planned = tables.rows("SELECT id, job_id, trigger_msg FROM xxl_job_log WHERE id >= %s AND trigger_msg LIKE "
                          "'<!--sw:p:%%'", (first_id,))
    check_arrivals(seen, at_s, first_id, {row["id"]: due_second(row) for row in planned})
    assert planned and all(due_second(row) > at_s for row in planned)
    first = next(job["firstSeconds"] for job in done["jobs"] if job["job"] == rate)
    assert {(due_second(row) - first) % 7 for row in planned if row["job_id"] == rate} <= {0}

    # Executors that still hold runs of the lost time: answered, counted, and no row is made or changed.
    node = nodes[0]
    unknown = node.metrics()['shardwheel_callbacks_total{result="unknown_log"}']
    assert node.post("/api/callback", [callback_entry(lost_ids), callback_entry(lost_ids - 1)], TOKEN).code == 200
    assert node.metrics()['shardwheel_callbacks_total{result="unknown_log"}'] == unknown + 2
    assert not tables.rows("SELECT id FROM xxl_job_log WHERE id IN (%s, %s)", (lost_ids, lost_ids - 1))
    # One that ran through the restore reports its end; there was no retry of it meanwhile.
    assert node.post("/api/callback", [callback_entry(running)], TOKEN).code == 200
    assert tables.log(running)["handle_code"] == 200


def test_ids_of_rows_that_are_gone_are_not_given_again(cluster):
    tables = cluster.tables
    node = cluster.node("node-a")
    tables.execute("ALTER TABLE xxl_job_log AUTO_INCREMENT = 50000000")  # all rows before were cleaned away
    node.terminate()
    tried = ctl_json(cluster, "--dry-run")
    done = ctl_json(cluster)
    assert tried["firstLogId"] == done["firstLogId"] > 50999999
    tables.execute("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (0, 0, 500, 500)")
    assert tables.value("SELECT MAX(id) FROM xxl_job_log") >= done["firstLogId"]


def test_a_backup_made_behind_after_restore_is_restored_too(cluster):
    """Before any node had started: its tables look as if nothing were left to do."""
    node = cluster.node("node-a")
    load = cluster.load_executor([node], addresses=4)
    cluster.tables.add_load(cluster.tables.add_group("load", load.addresses), FIRES)
    load.wait_arrivals(FIRES, 20)
    assert node.terminate(20) == 0
    first = ctl_json(cluster)
    backup = dump(cluster)
    node.start()
    load.wait_arrivals(FIRES * 4, 30)
    node.kill()
    killed_at = time.time()
    restore(cluster, backup)
    second = ctl_json(cluster)
    assert second["done"] and second["atSeconds"] > first["atSeconds"] and second["firstLogId"] > first["firstLogId"]

    node.start()
    wait_until(lambda: any(a[1] > second["atSeconds"] + 2 for a in arrivals(load)), 30, "fires behind the restore")

    # Of one life two due times of a job may have the same second: one that was planned late has that of its sending.
    sent = [a for a in arrivals(load) if a[1] > first["atSeconds"]]
    lives = [[a for a in sent if (a[3] > killed_at) == after] for after in (False, True)]
    assert all(len(life) == len({a[2] for a in life}) for life in lives), "runs were sent twice"
    assert not {a[:2] for a in lives[0]} & {a[:2] for a in lives[1]}, "due times were sent twice"


def test_flow_runs_of_the_backup_end_and_do_not_go_on_by_themselves(world):
    flows, tables = Flows(world), world.tables
    first, second = flows.add_job("first"), flows.add_job("second")
    steps = [{"name": "a", "type": "job", "jobId": first}, {"name": "b", "type": "job", "jobId": second}]
    flow = flows.add("line", steps=steps, edges=[{"from": "a", "to": "b"}])
    run = flows.start(flow)
    flows.executor.wait_runs(first)
    flows.node.kill()
    now = int(time.time())
    waiting = flows.start(flow, state=0)
    rate = flows.add("rate", steps=steps, schedule={"every": 10}, next_s=now - 25)
    delay = flows.add("delay", steps=steps, schedule={"delay": 3600}, next_s=now - 25)
    cron = flows.add("cron", steps=steps, schedule={"cron": "0 0 0 1 1 ?"}, next_s=now + 86400)
    over = flows.add("over", steps=steps, schedule={"every": 10, "until": "2026-01-01T00:00:00Z"}, next_s=now - 25)
    tables.execute("DELETE FROM shardwheel_node")

    done = ctl_json(world)
    at_s = done["atSeconds"]
    assert (done["flowRuns"], done["flows"]) == (2, 3)
    for one in (run, waiting):
        assert flows.state(one) == "failed" and flows.states(one) == ["cancelled", "cancelled"]
    assert tables.value("SELECT message FROM shardwheel_flow_run WHERE id = %s", (run,)) == \
        "the database was restored from a backup"
    assert "may have run" in flows.steps(run)[0]["message"] and not flows.steps(waiting)[0]["message"]
    next_s = {f: tables.value("SELECT next_s FROM shardwheel_flow WHERE id = %s", (f,))
              for f in (rate, delay, cron, over)}
    assert at_s < next_s[rate] <= at_s + 10 and (next_s[rate] - now + 25) % 10 == 0
    assert next_s[delay] == at_s + 3600 and next_s[cron] == now + 86400 and next_s[over] is None
    skipped, = tables.rows("SELECT * FROM shardwheel_flow_run WHERE flow_id = %s", (rate,))
    assert (skipped["state"], skipped["due_s"]) == (5, now - 25) and "may have run" in skipped["message"]
    count = 1 + (at_s - now + 25) // 10
    assert f"; {count} due times" in skipped["message"]

    tables.execute("UPDATE shardwheel_flow SET started = 0")
    flows.node.start()
    assert flows.start(flow) > waiting + 1000000
    flows.executor.wait_runs(first, 2)
    flows.ask(run, "rerun")
    flows.answer(flows.node, first, nth=2)
    flows.answer(flows.node, second, nth=0)
    assert flows.wait_end(run) == "succeeded"


def all_arrived(world, load, from_s, to_s):
    verdict, said = world.audit(load, from_s, to_s, jobs=f"1-{10 * FIRES}")
    assert verdict["lost"] == 0 and verdict["doubled"] == 0, said.stdout
    return True


def check_tables(tables, done, planned, of):
    at_s = done["atSeconds"]
    assert not tables.open_rows(to_s=at_s)
    for log_id in planned:
        row = tables.log(log_id)
        assert (row["trigger_code"], row["alarm_status"]) == (500, 1)
        assert "restored from a backup" in row["trigger_msg"]
    assert done["unknown"] >= len(planned) > 0 and done["later"] == 1 and done["sessions"] == 1
    assert not tables.value("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time <= %s",
                            (at_s * 1000,))
    assert tables.value("SELECT generation FROM shardwheel_primary WHERE id = 1") == 1001
    assert tables.log(of["running"])["alarm_status"] == 1 and tables.log(of["running"])["handle_code"] == 0
    assert tables.job(of["ended"])["trigger_status"] == 0
    entries = {job["job"]: job for job in done["jobs"]}
    assert entries[of["ended"]]["mayHaveRun"] == 1 and entries[of["ended"]]["stopped"]
    assert entries[of["long_run"]]["mayHaveRun"] == 1  # the later row
    assert entries[of["rate"]]["mayHaveRun"] == 1 + (at_s - entries[of["rate"]]["firstSeconds"]) // 7
    rows = tables.logs(of["rate"], "trigger_msg LIKE '<!--sw:s:%%'")
    assert len(rows) == 1 and rows[0]["id"] > done["firstLogId"] - 1 and "may have run" in rows[0]["trigger_msg"], rows
    assert {(r["cursor_s"], r["epoch"]) for r in tables.rows("SELECT cursor_s, epoch FROM shardwheel_cursor")} == {
        (at_s, done["epoch"])}
    audit = tables.audit("cluster.after-restore")
    assert len(audit) == 1 and audit[0]["after"]["firstLogId"] == done["firstLogId"] - 1, audit


def check_arrivals(seen, at_s, first_id, due_of):
    """due_of: log id -> due second of rows that are there; what is caught up goes out later than it is due."""
    fires = [(job, due_of.get(log_id, fired)) for job, fired, log_id, _ in seen]
    assert len(set(fires)) == len(fires), "something came twice"
    new = [fire for fire, arrival in zip(fires, seen) if arrival[2] >= first_id]
    assert new and all(due > at_s for _, due in new), "due times from before the restore were sent"
    assert all(log_id < first_id for _, _, log_id, arrived in seen if arrived < at_s)
