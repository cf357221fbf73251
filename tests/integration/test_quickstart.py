# SPDX-License-Identifier: MIT
"""tools/quickstart, from the built program on: what it shows, what it leaves, and what it keeps for the next time."""
import importlib.util
import json
import os
import queue
import re
import signal
import subprocess
import sys

import pymysql
import pytest

from harness.node import ROOT
from harness.process import free_ports, wait_until

DEMO = os.path.join(ROOT, "tools", "quickstart.d", "demo.py")


class Quickstart:
    def __init__(self, folder, number):
        self.data = os.path.join(folder, "data")
        self.path = os.path.join(folder, f"out-{number}.txt")
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, DEMO, "--data", self.data, "--port", str(free_ports(1))],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def wait_shown(self, pattern):
        wait_until(lambda: re.search(pattern, self.text()) or self.process.poll() is not None, 120, pattern)
        assert re.search(pattern, self.text()), self.text()

    def query(self, sql):
        connection = pymysql.connect(
            unix_socket=os.path.join(self.data, "mysql.sock"), user="root", database="xxl_job", autocommit=True
        )
        with connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def end(self):
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(90) == 0, self.text()


@pytest.fixture
def start(tmp_path):
    started = []

    def make():
        started.append(Quickstart(str(tmp_path), len(started)))
        return started[-1]

    yield make
    for one in started:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.wait(90)


def test_the_log_of_a_run_begins_when_it_arrived():
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    executor = object.__new__(demo.Executor)
    executor.shown, executor.done, executor.logs = queue.Queue(), queue.Queue(), {}
    arrived = 1_800_000_000.0005
    executor.run({"logId": 7, "logDateTime": 1_800_000_000_000, "executorHandler": "hello"}, arrived)
    assert [line.split()[0] for line in executor.logs[7]] == [demo.clock(1_800_000_000)] * 2


DEMO_JOBS = "SELECT id, job_desc FROM xxl_job_info WHERE author = 'quickstart' ORDER BY id"


def test_what_the_user_has_made_is_there_the_next_time(start):
    first = start()
    first.wait_shown(r"late .* demo: every second")
    told = re.search(r"command: +(.*)\n", first.text())[1]
    assert subprocess.run(told.split(), capture_output=True, text=True).returncode == 0, told
    demo = first.query(DEMO_JOBS)
    first.query(
        "INSERT INTO xxl_job_info (job_group, job_desc, author, schedule_type, schedule_conf, misfire_strategy, "
        "executor_route_strategy, executor_handler, executor_block_strategy, executor_fail_retry_count, glue_type, "
        "trigger_status, trigger_next_time) SELECT id, 'mine', 'me', 'CRON', '* * * * * ?', 'DO_NOTHING', 'FIRST', "
        "'hello', 'SERIAL_EXECUTION', 0, 'BEAN', 1, (UNIX_TIMESTAMP() + 6) * 1000 FROM xxl_job_group "
        "WHERE app_name = 'quickstart-executor'"
    )
    first.wait_shown(r"late .* mine\n")
    first.end()
    assert re.search(r"\n[1-9]\d* fires shown, lateness p50 ", first.text())

    again = start()
    again.wait_shown(r"late .* mine\n")
    again.wait_shown(r"late .* demo: every second")
    assert again.query(DEMO_JOBS) == demo
    assert again.query("SELECT trigger_status FROM xxl_job_info WHERE job_desc = 'mine'") == ((1,),)
    # They were stopped on record, so that their due times in between have a reason.
    stopped = again.query("SELECT DISTINCT target FROM shardwheel_audit WHERE action = 'job.stop'")
    assert len(stopped) == len([name for _, name in demo if name not in ("demo: child of it", "demo: only by hand") and
                                not name.endswith(", in a flow")])
    # A demo job fails on purpose; no other run did, also at the end of the first time.
    assert again.query(
        "SELECT j.job_desc, l.trigger_msg FROM xxl_job_log l JOIN xxl_job_info j ON j.id = l.job_id WHERE "
        "j.author = 'quickstart' AND j.executor_handler = 'hello' AND (l.trigger_code = 500 OR l.handle_code = 500)"
    ) == ()
    again.end()


FLOW_RUNS = "SELECT state, who FROM shardwheel_flow_run WHERE flow_id = (SELECT id FROM shardwheel_flow)"


def test_a_flow_hands_values_on_and_is_kept_as_the_user_has_changed_it(start):
    first = start()
    first.wait_shown(r"demo: finds orders, in a flow: \d{4}-\d\d-\d\d\n")
    first.wait_shown(r'demo: sums up, in a flow: \d{4}-\d\d-\d\d: '
                     r'\["order 101 is packed","order 102 is packed","order 103 is packed"\]\n')
    assert sorted(re.findall(r"packs an order, in a flow: (.*)\n", first.text())[:3]) == [
        "order 101", "order 102", "order 103"]
    assert first.query("SELECT name, started, version, next_s % 60 FROM shardwheel_flow") == (
        ("demo-orders", 1, 1, 0),)
    first.end()

    again = start()
    again.wait_shown(r"late .* demo: every second")
    assert again.query("SELECT name, started, version FROM shardwheel_flow") == (("demo-orders", 1, 1),)
    # All that the first time began had ended with it.
    assert {state for state, _ in again.query(f"{FLOW_RUNS} ORDER BY id LIMIT 1")} == {2}
    document = json.loads(again.query("SELECT document FROM shardwheel_flow_version")[0][0])
    document["steps"][2]["param"] = "mine: ${steps.pack.result/0}"
    changed = subprocess.run([os.path.join(ROOT, "build", "release", "shardwheel"), "ctl", "flow", "apply", "-f", "-",
                              "--data", again.data], input=json.dumps(document), capture_output=True, text=True)
    assert changed.returncode == 0, changed.stderr
    again.end()

    third = start()
    third.wait_shown(r"demo: sums up, in a flow: mine: order 101 is packed\n")
    assert third.query("SELECT name, started, version FROM shardwheel_flow") == (("demo-orders", 1, 2),)
    assert len(third.query("SELECT id FROM shardwheel_audit WHERE action = 'flow.stop'")) == 2
    third.end()
