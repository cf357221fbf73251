#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Starts a standalone node and a sample executor, makes demo jobs and shows what happens. Standard library only."""

import argparse
import http.client
import http.server
import json
import os
import queue
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APP = "quickstart-executor"
LOGS_KEPT = 10000  # runs
CTL = os.path.join(TOP, "build", "release", "shardwheelctl")
PARENT, CHILD, BY_HAND = "demo: every 10 seconds, has a child", "demo: child of it", "demo: only by hand"
FAILS = "demo: fails every 10 seconds, one retry"
FLOW, FINDS, PACKS, SUMS = ("demo-orders", "demo: finds orders, in a flow", "demo: packs an order, in a flow",
                            "demo: sums up, in a flow")
# description, schedule type, schedule, route, handler, parameter, retries
JOBS = [
    ("demo: every second", "CRON", "* * * * * ?", "FIRST", "hello", "every second", 0),
    ("demo: every 5 seconds", "CRON", "0/5 * * * * ?", "ROUND", "hello", "every five", 0),
    ("demo: fixed rate 3 s", "FIX_RATE", "3", "CONSISTENT_HASH", "hello", "fixed rate", 0),
    ("demo: broadcast every 10 seconds", "CRON", "0/10 * * * * ?", "SHARDING_BROADCAST", "hello", "to everyone", 0),
    (FAILS, "CRON", "5/10 * * * * ?", "FIRST", "fail", "on purpose", 1),
    (PARENT, "CRON", "2/10 * * * * ?", "FIRST", "hello", "the parent", 0),
    (CHILD, "NONE", "", "FIRST", "hello", "the child", 0),
    (BY_HAND, "NONE", "", "FIRST", "hello", "", 0),
    (FINDS, "NONE", "", "FIRST", "orders", "", 0),
    (PACKS, "NONE", "", "ROUND", "pack", "", 0),
    (SUMS, "NONE", "", "FIRST", "hello", "", 0),
]
# What a handler reports at the end, by its parameter. Steps of flows hand it on.
REPORTS = {
    "hello": lambda param: "done",
    "orders": lambda param: json.dumps({"day": param, "orders": [101, 102, 103]}),
    "pack": lambda param: f"{param} is packed",
}


def fail(text):
    print(f"quickstart: {text}", file=sys.stderr)
    sys.exit(1)


def seconds(text):
    match = re.fullmatch(r"(\d+)(s|m)?", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no duration: expected for example 20s or 2m")
    return int(match[1]) * (60 if match[2] == "m" else 1)


def clock(at):
    """Of time.time(). strftime alone has a coarser clock: in the first ms of a second it says the second before."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def free_port(wanted):
    for port in (wanted, 0):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return s.getsockname()[1]
            except OSError:
                continue
    fail("no free port")


class Executor:
    """A small executor: accepts runs at once, does the job, calls back."""

    def __init__(self, admin_port, token, shown):
        self.headers = {"Content-Type": "application/json", "XXL-JOB-ACCESS-TOKEN": token}
        self.admin_port, self.shown, self.done, self.logs = admin_port, shown, queue.Queue(), {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = {"code": 200}
                if self.path == "/run":
                    outer.run(json.loads(body), time.time())
                elif self.path == "/log":
                    answer["content"] = answer["data"] = outer.read_log(json.loads(body))
                elif self.path not in ("/beat", "/idleBeat", "/kill"):
                    answer = {"code": 500, "msg": f"invalid request, uri-mapping({self.path}) not found."}
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        threading.Thread(target=self.call_back, daemon=True).start()
        threading.Thread(target=self.beat, daemon=True).start()

    def run(self, trigger, arrived):
        self.shown.put((trigger, arrived))
        handler, param = trigger["executorHandler"], trigger.get("executorParams") or ""
        ok = handler != "fail"
        report = REPORTS.get(handler, REPORTS["hello"])(param) if ok else "fails on purpose"
        now = clock(arrived)
        self.logs[trigger["logId"]] = [f"{now} {handler}: begins, parameter \"{param}\"", f"{now} {handler}: {report}"]
        if len(self.logs) > LOGS_KEPT:
            del self.logs[next(iter(self.logs))]
        self.done.put({"logId": trigger["logId"], "logDateTim": trigger["logDateTime"],
                       "handleCode": 200 if ok else 500, "handleMsg": report})

    def read_log(self, wanted):
        """What the consoles ask for: the lines from one on, and whether more may come."""
        lines = self.logs.get(wanted["logId"], ["the quickstart's executor no longer has this log"])
        first = max(1, wanted["fromLineNum"])
        text = "".join(f"{line}\n" for line in lines[first - 1:])
        return {"fromLineNum": first, "toLineNum": len(lines), "logContent": text, "isEnd": first > len(lines)}

    def post(self, method, body):
        conn = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=5)
        try:
            conn.request("POST", f"/api/{method}", json.dumps(body), self.headers)
            return json.loads(conn.getresponse().read()).get("code") == 200
        except (OSError, ValueError, http.client.HTTPException):
            return False
        finally:
            conn.close()

    def beat(self):
        while True:
            ok = self.post("registry", {"registryGroup": "EXECUTOR", "registryKey": APP, "registryValue": self.address})
            time.sleep(20 if ok else 0.5)

    def leave(self):
        self.post("registryRemove", {"registryGroup": "EXECUTOR", "registryKey": APP, "registryValue": self.address})

    def call_back(self):
        while True:
            batch = [self.done.get()]
            while not self.done.empty() and len(batch) < 50:
                batch.append(self.done.get())
            while not self.post("callback", batch):
                time.sleep(0.5)


class Console:
    """What is done through api/v1 is on record: due times of a stopped job have a reason afterwards."""

    def __init__(self, port, password):
        self.port, self.headers = port, {"Content-Type": "application/json"}
        answer = self.call("POST", "/session", {"username": "admin", "password": password}) if password else None
        if answer:
            self.headers["Cookie"] = answer.getheader("Set-Cookie", "").split(";")[0]

    def call(self, method, path, body=None):
        """The answer; None where it is a refusal."""
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            conn.request(method, f"/api/v1{path}", json.dumps(body or {}), self.headers)
            answer = conn.getresponse()
            return answer if answer.status < 300 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            conn.close()

    def act(self, verb, jobs):
        """Start or stop: whether all were; False also where the password has been changed."""
        if "Cookie" not in self.headers:
            return False
        done = all([self.call("POST", f"/jobs/{job}/{verb}") for job in jobs])
        self.call("DELETE", "/session")
        return done


def ctl(data, *arguments, given=None):
    """shardwheelctl: it needs no password, which the user may have changed."""
    return subprocess.run([CTL, *arguments, "--data", data], input=given, capture_output=True, text=True)


class Flow:
    """The demo flow: one job finds orders, one packs each of them, one sums up. The user may change it."""

    def __init__(self, data):
        self.data = data

    def make(self, jobs):
        """If it is missing. What the user has made of it stays as it is."""
        found = ctl(self.data, "flow", "list", "--json")
        if found.returncode != 0:
            fail(f"shardwheelctl flow list: {found.stderr.strip()}")
        if FLOW in [flow["name"] for flow in json.loads(found.stdout)]:
            return
        ids = {name: job for job, name in jobs.items()}
        done = ctl(self.data, "flow", "apply", "-f", "-", given=json.dumps({
            "name": FLOW, "description": "finds orders, packs each of them and sums up",
            "schedule": {"cron": "0 * * * * ?"}, "retentionDays": 7,
            "steps": [
                {"name": "find", "type": "job", "jobId": ids[FINDS], "param": "${due:yyyy-MM-dd}"},
                {"name": "pack", "type": "map", "jobId": ids[PACKS], "items": "steps.find.result/orders",
                 "param": "order ${item}", "parallel": 2},
                {"name": "sum-up", "type": "job", "jobId": ids[SUMS],
                 "param": "${steps.find.result/day}: ${steps.pack.result}"}],
            "edges": [{"from": "find", "to": "pack"}, {"from": "pack", "to": "sum-up"}]}))
        if done.returncode != 0:
            fail(f"shardwheelctl flow apply: {done.stderr.strip()}")

    def start(self):
        """Its schedule, and a run now. Refused where the user's change has no schedule, or needs a parameter."""
        ctl(self.data, "flow", "start", FLOW)
        run = ctl(self.data, "flow", "run", FLOW)
        print(f"shardwheelctl flow run {FLOW}: {(run.stdout or run.stderr).strip()}\n", flush=True)

    def stop(self):
        ctl(self.data, "flow", "stop", FLOW)


class Database:
    def __init__(self, data):
        self.socket = os.path.join(data, "mysql.sock")

    def query(self, sql):
        run = subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-B", "xxl_job"],
                             input=sql, capture_output=True, text=True)
        if run.returncode != 0:
            fail(f"the private database refuses a statement: {run.stderr.strip()}")
        return [line.split("\t") for line in run.stdout.splitlines()]

    def make_group(self):
        """The group's id, without addresses of an executor of an earlier run. Its jobs stay: some may be the user's."""
        self.query("INSERT INTO xxl_job_group (app_name, title, address_type, update_time) "
                   f"SELECT '{APP}', 'Quickstart', 0, NOW() "
                   f"FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM xxl_job_group WHERE app_name = '{APP}')")
        group = self.query(f"SELECT MIN(id) FROM xxl_job_group WHERE app_name = '{APP}'")[0][0]
        self.query(f"DELETE FROM xxl_job_registry WHERE registry_key = '{APP}'; "
                   f"UPDATE xxl_job_group SET address_list = NULL WHERE id = {group}")
        return group

    def wait_listed(self, group, address):
        deadline = time.time() + 40
        while self.query(f"SELECT COALESCE(address_list, '') FROM xxl_job_group WHERE id = {group}")[0] != [address]:
            if time.time() > deadline:
                fail(f"the executor {address} was not listed within 40 s")
            time.sleep(0.1)

    def load_jobs(self, group):
        """The demo jobs that are there: name by id."""
        names = ",".join(f"'{job[0]}'" for job in JOBS)
        return dict((int(i), name) for i, name in
                    self.query(f"SELECT id, job_desc FROM xxl_job_info WHERE job_group = {group} "
                               f"AND author = 'quickstart' AND job_desc IN ({names})"))

    def make_jobs(self, group):
        """Those that are missing: name by id of all. What the user has changed stays as it is."""
        there = self.load_jobs(group).values()
        rows = ",".join(
            f"({group}, '{desc}', NOW(), NOW(), 'quickstart', '{kind}', '{conf}', 'DO_NOTHING', '{route}', "
            f"'{handler}', '{param}', 'SERIAL_EXECUTION', {retries}, 'BEAN', 0, 0)"
            for desc, kind, conf, route, handler, param, retries in JOBS if desc not in there)
        if rows:
            self.query("INSERT INTO xxl_job_info (job_group, job_desc, add_time, update_time, author, schedule_type, "
                       "schedule_conf, misfire_strategy, executor_route_strategy, executor_handler, executor_param, "
                       "executor_block_strategy, executor_fail_retry_count, glue_type, trigger_status, "
                       f"trigger_next_time) VALUES {rows}")
        jobs = self.load_jobs(group)
        ids = ",".join(map(str, jobs))
        self.query(f"UPDATE xxl_job_info p JOIN xxl_job_info c ON c.id IN ({ids}) AND c.job_desc = '{CHILD}' "
                   f"SET p.child_jobid = c.id WHERE p.id IN ({ids}) AND p.job_desc = '{PARENT}'")
        return jobs

    def start_jobs(self, jobs, console):
        ids = ",".join(map(str, jobs))
        scheduled = self.query(f"SELECT id FROM xxl_job_info WHERE id IN ({ids}) AND schedule_type <> 'NONE' "
                               "AND trigger_status = 0")
        if scheduled and not console.act("start", [row[0] for row in scheduled]):
            self.query("UPDATE xxl_job_info SET trigger_status = 1, trigger_last_time = 0, update_time = NOW(), "
                       f"trigger_next_time = {(int(time.time()) + 6) * 1000} "
                       f"WHERE id IN ({','.join(row[0] for row in scheduled)}) AND trigger_status = 0")

    def find_name(self, job):
        found = self.query(f"SELECT job_desc FROM xxl_job_info WHERE id = {job}")
        return found[0][0] if found else "?"

    def stop_jobs(self, jobs, console):
        ids = ",".join(map(str, jobs))
        started = self.query(f"SELECT id FROM xxl_job_info WHERE id IN ({ids}) AND trigger_status = 1")
        if started and not console.act("stop", [row[0] for row in started]):
            self.query("UPDATE xxl_job_info SET trigger_status = 0, trigger_next_time = 0, trigger_last_time = 0, "
                       f"update_time = NOW() WHERE id IN ({ids})")

    def results(self, jobs, since_id):
        """Of all runs: accepted, came back. Of the demo jobs: planned or in progress; open runs of the demo flow."""
        ids = ",".join(map(str, jobs))
        row = self.query("SELECT SUM(trigger_code = 200), SUM(trigger_code <> 0 AND handle_code <> 0), "
                         f"SUM(job_id IN ({ids}) AND trigger_code IN (0, 200) AND handle_code = 0) "
                         f"FROM xxl_job_log WHERE id > {since_id}")[0]
        accepted, came_back, is_open = [int(value) if value != "NULL" else 0 for value in row]
        open_flows = self.query("SELECT COUNT(*) FROM shardwheel_flow_run r JOIN shardwheel_flow f ON f.id = r.flow_id "
                                f"WHERE f.name = '{FLOW}' AND r.ended_ms IS NULL")[0][0]
        return accepted, came_back, is_open + int(open_flows)


def wait_healthy(node, port):
    deadline = time.time() + 90
    while time.time() < deadline:
        if node.poll() is not None:
            fail(f"the node ended with status {node.returncode}; its log is above")
        conn = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            conn.request("GET", "/actuator/health")
            if conn.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException):
            pass
        finally:
            conn.close()
        time.sleep(0.1)
    fail("the node did not become healthy within 90 s")


def load_password(node, data):
    """Of the user admin. The node prints it once, when it makes the database: it is kept in the closed data folder."""
    path = os.path.join(data, "admin-password")
    if select.select([node.stdout], [], [], 0)[0]:
        found = re.search("with the password '([^']+)'", node.stdout.readline().decode())
        if found:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(found[1])
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def load_token(data):
    """The node has made one for a new database; an older one may have none."""
    try:
        with open(os.path.join(data, "access-token"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def trigger_by_hand(jobs, data):
    job = next(job for job, name in jobs.items() if name == BY_HAND)
    run = ctl(data, "trigger", str(job), "--param", "by hand")
    if run.returncode != 0:
        fail(f"shardwheelctl trigger {job}: {run.stderr.strip()}")
    print(f"shardwheelctl trigger {job}: {run.stdout.strip()}\n", flush=True)


def show(node, database, jobs, shown, until, lateness):
    """Fills in lateness, so that it is there also after a Ctrl-C."""
    names, retries_next = dict(jobs), False
    while until is None or time.time() < until:
        try:
            trigger, arrived = shown.get(timeout=0.2)
        except queue.Empty:
            if node.poll() is not None:
                fail(f"the node ended with status {node.returncode}; its log is above")
            continue
        late_ms = arrived * 1000 - trigger["logDateTime"]
        if trigger["jobId"] not in names:
            names[trigger["jobId"]] = database.find_name(trigger["jobId"])
        name, late = names[trigger["jobId"]], f"late {late_ms:7.1f} ms"
        if name in (FINDS, PACKS, SUMS):
            late, name = "step of a flow ", f"{name}: {trigger.get('executorParams') or ''}"
        elif name in (CHILD, BY_HAND) or (name == FAILS and retries_next):
            late = "retry          " if name == FAILS else "asked for      "  # due when it was asked for: never late
        else:
            lateness.append(late_ms)
        retries_next ^= name == FAILS
        due = clock(trigger["logDateTime"] / 1000)
        print(f"  due {due}  {late}  log {trigger['logId']:<8} job {trigger['jobId']:<5} {name}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="see tools/quickstart --help")
    parser.add_argument("--for", dest="duration", type=seconds)
    parser.add_argument("--data", default=os.path.join(TOP, "build", "quickstart"))
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--fresh", action="store_true")
    args = parser.parse_args()
    data = os.path.abspath(args.data)
    if args.fresh and os.path.exists(os.path.join(data, "mariadbd.log")):
        shutil.rmtree(data)
    # A signal must go through the cleanup below, which stops the node and with it its database.
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    port = free_port(args.port)
    node = subprocess.Popen(
        [os.path.join(TOP, "build", "release", "shardwheel"), "standalone", "--data", data, f"--server.port={port}",
         "--xxl.job.i18n=en"], start_new_session=True, stdout=subprocess.PIPE)
    shown, lateness, status = queue.Queue(), [], 1
    database = Database(data)
    try:
        wait_healthy(node, port)
        since_id = int(database.query("SELECT COALESCE(MAX(id), 0) FROM xxl_job_log")[0][0])
        group = database.make_group()
        executor = Executor(port, load_token(data), shown)
        database.wait_listed(group, executor.address)
        password = load_password(node, data)
        jobs = database.make_jobs(group)
        database.start_jobs(jobs, Console(port, password))
        flow = Flow(data)
        flow.make(jobs)
        scheduled = len([job for job in JOBS if job[1] != "NONE"])
        told = f"{password}  (unless you have changed it)" if password else (
            "was shown when this database was made; --fresh makes another")
        print(f"\n  console:   http://127.0.0.1:{port}/\n"
              f"  user:      admin\n"
              f"  password:  {told}\n\n"
              "your job:  group Quickstart, handler hello (or fail, to see a failure)\n"
              f"API:       docs/api.md; scripts for the console of xxl-job 2.3 to 3.5 work here, too\n"
              f"metrics:   http://127.0.0.1:{port}/metrics, health: /actuator/health\n"
              f"database:  mariadb --socket={database.socket} -uroot xxl_job\n"
              f"command:   {CTL} nodes --data {data}\n"
              f"{len(jobs)} demo jobs ({scheduled} with a schedule) and the flow {FLOW}; first fires in about 5 s. "
              f"{'Ends by itself.' if args.duration else 'Ctrl-C ends it.'}\n",
              flush=True)
        trigger_by_hand(jobs, data)
        flow.start()
        try:
            show(node, database, jobs, shown, time.time() + args.duration if args.duration else None, lateness)
        except KeyboardInterrupt:
            print()
        flow.stop()
        database.stop_jobs(jobs, Console(port, password))
        status = finish(database, jobs, since_id, lateness, args.duration is not None)
        executor.leave()
    except KeyboardInterrupt:
        print()
    finally:
        if node.poll() is None:
            node.send_signal(signal.SIGTERM)
        try:
            node.wait(60)
        except subprocess.TimeoutExpired:
            node.kill()
            fail("the node did not stop within 60 s and was killed")
    sys.exit(status)


def finish(database, jobs, since_id, lateness, judged):
    print("ending: what is planned is sent, and results come back ...", flush=True)
    deadline = time.time() + 10
    accepted, came_back, is_open = database.results(jobs, since_id)
    while (is_open or came_back < len(lateness)) and time.time() < deadline:
        time.sleep(0.2)
        accepted, came_back, is_open = database.results(jobs, since_id)
    lateness.sort()
    if lateness:
        print(f"\n{len(lateness)} fires shown, lateness p50 {lateness[len(lateness) // 2]:.1f} ms, "
              f"max {lateness[-1]:.1f} ms; in the database: {accepted} accepted, {came_back} results came back")
    if not judged:
        return 0
    if not lateness:
        print("quickstart: no fire reached the executor: see the node's log above", file=sys.stderr)
        return 1
    if came_back < len(lateness):
        print(f"quickstart: only {came_back} of {len(lateness)} results came back", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    main()
