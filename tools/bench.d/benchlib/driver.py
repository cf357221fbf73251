# SPDX-License-Identifier: MIT
"""Runs one scenario against one admin: starts what is to be started, measures, audits, cleans up."""

import contextlib
import json
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import pymysql

from benchlib import auditing, dburl, measure, proc, scenario

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
# Java admins look for due jobs at least every 5 s, and shardwheel plans 5 s ahead: jobs that are started
# later than this before their first due time would measure the start.
LEAD_S = 12
BURST_BEFORE_S = 6  # the planning of a burst belongs to its cost
REGISTERED_S = 10  # after the last answer all addresses must be in the database
CALLBACKS_PER_S = 500  # slower than that they are given up
ADMIN_START_S = 120
JOBS_STARTED_PER_S = 20000  # at least


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def find_executor(given, folder):
    """The load executor: the one named, one that was built, or compiled now."""
    if given:
        return given
    for path in (ROOT / "build" / "release" / "load_executor", ROOT / "build" / "debug" / "load_executor"):
        if path.is_file():
            return str(path)
    binary = str(pathlib.Path(folder) / "load_executor")
    say("no load_executor in build/, compiling one")
    subprocess.run(["cc", "-O2", "-std=c17", "-o", binary, *sorted(map(str, HERE.glob("load_*.c")))], check=True)
    return binary


def sleep_until(wall_s):
    while (left := wall_s - time.time()) > 0:
        time.sleep(min(left, 1))


class Admin:
    """The admin under load: one that runs already, or a command."""

    def __init__(self, url, pid, command, log_path):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"--admin-url: '{url}' is not http://host:port[/context]")
        self.url = url.rstrip("/")
        self.where = parts.hostname, parts.port or 80
        self.pid = pid
        self.process = None
        self.log_path = log_path
        if command:
            with open(log_path, "wb") as log:
                self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                start_new_session=True)
            self.pid = self.process.pid
        elif pid and proc.process_name(pid) is None:
            raise ValueError(f"--pid: there is no process {pid}")

    def wait_ready(self):
        end = time.monotonic() + (ADMIN_START_S if self.process else 5)
        while time.monotonic() < end:
            self.check()
            try:
                socket.create_connection(self.where, timeout=2).close()
                return
            except OSError:
                time.sleep(0.1)
        raise OSError(f"nothing listens at {self.url}" + self.hint())

    def hint(self):
        return f", see {self.log_path}" if self.process else ""

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def check(self):
        if self.process and self.process.poll() is not None:
            raise OSError(f"the admin ended with status {self.process.returncode}{self.hint()}")

    def stop(self):
        """SIGTERM, and its exit status; a negative one if it had to be killed."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                say("the admin did not end within 60 s of SIGTERM, killing it")
                self.process.kill()
                self.process.wait()
        return self.process.returncode


class LoadExecutor:
    def __init__(self, binary, arguments, app_name, folder, **more):
        self.first_port = arguments.executor_port or proc.find_free_ports(arguments.addresses)
        self.arrivals = pathlib.Path(folder) / f"arrivals-{app_name}.csv"  # appended to, so never shared
        self.addresses = [f"http://127.0.0.1:{self.first_port + i}/" for i in range(arguments.addresses)]
        self.log_path = pathlib.Path(folder) / "executor.log"
        options = {
            "listen": f"127.0.0.1:{self.first_port}", "addresses": arguments.addresses,
            "admin": arguments.executor_admin or arguments.admin_url, "app-name": app_name, "arrivals": self.arrivals,
            "batch": arguments.batch,
            "callback-delay-ms": arguments.callback_delay_ms, "callback-form": arguments.callback_form,
            "generation": arguments.generation, "answer-delay-ms": arguments.answer_delay_ms,
            "fail-percent": arguments.fail_percent, "silent-addresses": arguments.silent_addresses,
            "close-addresses": arguments.close_addresses, "log-lines": arguments.log_lines, **more}
        if arguments.token:
            options["token"] = arguments.token
        if arguments.callback_connections:
            options["callback-connections"] = arguments.callback_connections
        command = [binary, *(word for name, value in options.items() for word in (f"--{name}", str(value)))]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            start_new_session=True)

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace").strip()

    def wait_ready(self):
        end = time.monotonic() + 60
        while "registered" not in self.log():
            if self.process.poll() is not None:
                raise OSError(f"the load executor ended: {self.log()}")
            if time.monotonic() > end:
                raise OSError(f"the admin does not take the registration of the executor: {self.log()}")
            time.sleep(0.05)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """Its counters; it gets the results that are left through first."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=30)
        if self.process.returncode != 0:
            raise OSError(f"the load executor ended with status {self.process.returncode}: {self.log()}")
        return json.loads(out)


class Plan:
    """Which jobs, started when, and which due seconds count."""

    def __init__(self, arguments, zone):
        a = arguments
        self.pattern = scenario.STEADY_PATTERN
        self.idle = 0  # jobs that are enabled and not due
        now = time.time()
        if a.command in ("burst", "broadcast"):
            self.busy = a.jobs
            self.start_s = int(now) + LEAD_S + a.jobs // 5000
            self.pattern = [scenario.burst_expression(self.start_s)]
            self.first = {self.pattern[0]: self.start_s}
            self.from_s = self.start_s
            self.to_s = self.from_s + 60 * (a.repeat - 1) + 1
            self.measure_from_s, self.measure_to_s = self.from_s - BURST_BEFORE_S, None
            return
        self.busy = a.rate * 10
        if a.command == "jobs":
            self.idle = a.jobs - self.busy
            if self.idle < 0:
                raise ValueError(f"--rate: {a.rate} fires/s need {self.busy:,} jobs, --jobs are only {a.jobs:,}")
        self.start_s = -(-(int(now) + LEAD_S + (self.busy + self.idle) // JOBS_STARTED_PER_S) // 10) * 10
        self.first = scenario.steady_first(self.start_s)
        if self.idle:
            expression, due_s = scenario.idle_expression(now, zone)
            self.first[expression] = due_s
            self.idle_pattern = [expression]
        self.from_s = self.start_s + a.warmup
        self.to_s = self.from_s + a.seconds
        # Half a second early at both ends, where nothing is due: else a second would be cut in two.
        self.measure_from_s, self.measure_to_s = self.from_s - 0.5, self.to_s - 0.5

def wait_drained(jobs, most_s):
    """Waits until no row is open, or none has been closed for 10 s, or the time is over. Open rows that are left."""
    end = time.monotonic() + most_s
    best, since = None, time.monotonic()
    while True:
        count = jobs.open_rows()
        now = time.monotonic()
        if best is None or count < best:
            best, since = count, now
        if count == 0 or now > end or now - since > 10:
            return count
        time.sleep(0.5)


class Run:
    """One run, step by step; used as a context, it undoes what was begun, however far it came."""

    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder
        self.url = dburl.parse(arguments.db, arguments.db_user, arguments.db_password)
        self.undo = contextlib.ExitStack()
        self.jobs = self.admin = self.executor = self.meter = None

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return self.undo.__exit__(*what)

    def _stop_admin(self):
        was_running = self.admin.is_running()
        status = self.admin.stop()
        if was_running and status:
            say(f"the admin ended with status {status}{self.admin.hint()}")

    def _remove_jobs(self):
        if self.arguments.keep:
            return
        try:
            self.jobs.remove()
        except pymysql.MySQLError as error:
            say(f"could not remove the jobs of {self.jobs.app_name}: {error}")

    def _connect(self):
        """The database may be the admin's own, which starts and ends with it."""
        end = time.monotonic() + ADMIN_START_S
        while True:
            try:
                return dburl.connect(self.url)
            except ConnectionError:
                if not self.admin.process or time.monotonic() > end:
                    raise
                self.admin.check()
                time.sleep(0.1)

    def start_admin(self):
        """Admin and database are up, and the meter runs."""
        a = self.arguments
        self.binary = find_executor(a.executor, self.folder)
        self.admin = Admin(a.admin_url, a.pid, a.start, pathlib.Path(self.folder) / "admin.log")
        self.undo.callback(self._stop_admin)
        self.admin.wait_ready()
        connection = self._connect()
        self.undo.callback(connection.close)
        self.jobs = scenario.Jobs(connection)
        self.undo.callback(self._remove_jobs)
        self.meter = measure.Meter(connection, self.admin.pid, a.exclude_child,
                                   a.db_pid or measure.find_database_pid(connection))
        self.undo.callback(self.meter.close)

    def start_executor(self, **more):
        self.executor = LoadExecutor(self.binary, self.arguments, self.jobs.app_name, self.folder, **more)
        self.undo.callback(self.executor.kill)

    def prepare(self, **more):
        """Admin, database, executor with its group: all is up, no job is there yet."""
        a = self.arguments
        self.start_admin()
        slow = {"slow-addresses": a.slow_addresses} if a.command == "slow" else {}
        self.start_executor(**slow, **more)
        self.jobs.create_group(self.executor.addresses, a.token or "default_token", a.address_type == "manual")
        self.executor.wait_ready()
        if a.address_type == "auto":
            self._wait_addresses()

    def _wait_addresses(self):
        end = time.monotonic() + 120
        while self.jobs.registered_addresses() < len(self.executor.addresses):
            if time.monotonic() > end:
                raise OSError(f"after 2 minutes the group has {self.jobs.registered_addresses()} of "
                              f"{len(self.executor.addresses)} addresses")
            self.admin.check()
            time.sleep(0.5)

    def start_jobs(self):
        a = self.arguments
        if a.command == "jobs" and a.index:
            self.jobs.create_index()
        plan = Plan(a, self.url.zone)
        route = "SHARDING_BROADCAST" if a.command == "broadcast" else a.route
        self.jobs.create_jobs(plan.pattern, plan.busy, route)
        if plan.idle:
            self.jobs.create_jobs(plan.idle_pattern, plan.idle, route)
        if plan.measure_to_s:
            # Its time begins when the jobs are made; that of a burst is in their expression.
            plan = Plan(a, self.url.zone)
        self.jobs.start(plan.first)
        if time.time() > plan.start_s - BURST_BEFORE_S:
            raise OSError("making and starting the jobs took too long, the database is too slow for so many")
        say(f"{self.jobs.count:,} jobs, first due in {plan.start_s - time.time():.0f} s, "
            f"{plan.to_s - plan.from_s} s of due times count")
        return plan

    def execute(self):
        """(result, text of the audit)"""
        a = self.arguments
        self.prepare()
        plan = self.start_jobs()
        sleep_until(plan.measure_from_s)
        before = self.meter.snapshot()
        if plan.measure_to_s:
            sleep_until(plan.measure_to_s)
            after = self.meter.snapshot()
        sleep_until(plan.to_s + a.settle)
        if not plan.measure_to_s:
            # The results belong to the cost of a burst, stopping the jobs does not; but in a minute they are due again.
            wait_drained(self.jobs, min(a.drain, 50 - a.settle))
            after = self.meter.snapshot()
        self.jobs.stop()
        open_rows = wait_drained(self.jobs, a.drain)
        if self.jobs.running():
            say(f"{self.jobs.running()} jobs were started again by the admin, stopping them once more")
            self.jobs.stop()
        self.admin.check()
        counters = self.executor.stop()
        say(f"{open_rows} rows are open, auditing")
        return self.report(plan, before, after, counters)

    def slow_ports(self):
        """Of the addresses that answer late, or never."""
        a = self.arguments
        if a.command != "slow":
            return set()
        last = self.executor.first_port + a.addresses
        return {*range(self.executor.first_port, self.executor.first_port + a.silent_addresses),
                *range(last - a.slow_addresses, last)}

    def report(self, plan, before, after, counters):
        a = self.arguments
        started = time.monotonic()
        verdict = auditing.audit(self.url, plan.from_s, plan.to_s, [self.executor.arrivals],
                                 app_name=self.jobs.app_name, slow_ports=self.slow_ports())
        fires = auditing.count_between(self.executor.arrivals, before.wall_us, after.wall_us)
        seconds = (plan.to_s - plan.from_s if plan.measure_to_s
                   else max(0.001, verdict.last_arrival_us / 1e6 - plan.from_s))
        result = {
            "scenario": a.command, "label": a.label, "rate": getattr(a, "rate", None), "jobs": self.jobs.count,
            "idle_jobs": plan.idle, "addresses": a.addresses, "from_s": plan.from_s, "to_s": plan.to_s,
            "due": verdict.due, "delivered": verdict.delivered, "fires_per_s": round(verdict.delivered / seconds, 1),
            "lost": verdict.lost, "doubled": verdict.doubled, "unknown": verdict.unknown, "failed": verdict.failed,
            "early": verdict.early, "fired_without_due": verdict.fired_without_due, "open_rows": verdict.open_rows,
            "results_committed": verdict.results_ok, "late_ms": auditing.lateness(verdict.lateness_ms),
            "late_slow_ms": auditing.lateness(verdict.lateness_slow_ms),
            **measure.difference(before, after, fires),
            "admin_rss_peak_mb": round(self.meter.rss_peak / 2**20, 1) if self.admin.pid else None,
            "executor": counters, "audit_s": round(time.monotonic() - started, 1)}
        if a.command == "jobs":
            result["index"] = self.jobs.has_index()
        if a.command == "slow":
            result["slow_addresses"] = len(self.slow_ports())
        kept = self.jobs.kept_logs()
        if kept:
            result["kept_logs"] = kept
            say(f"{kept['count']:,} logs are kept, {kept['bytes']:,} bytes of {kept['text_bytes']:,}")
        result["seconds"] = auditing.by_second(verdict)
        offences = auditing.worst(verdict.offences, 10)
        return result, auditing.summary(verdict, offences, auditing.explain(self.url, offences)) if offences else ""


class CallbackRun(Run):
    """Rows that wait for their results, which all come as fast as they are answered."""

    def execute(self):
        a = self.arguments
        self.start_admin()
        path = pathlib.Path(self.folder) / "results.csv"
        self.jobs.create_group([], a.token or "default_token", True)
        rows = self.jobs.create_log_rows(a.results)
        with open(path, "w", encoding="ascii") as file:
            for log_id, trigger in rows:
                file.write(f"{log_id},{dburl.to_epoch(self.url, trigger) * 1000}\n")
        say(f"{len(rows):,} rows wait for their result")
        before = self.meter.snapshot()
        self.start_executor(results=path)
        end = time.monotonic() + a.drain + len(rows) / CALLBACKS_PER_S
        while "are confirmed" not in self.executor.log() and time.monotonic() < end:
            self.admin.check()
            time.sleep(0.02)
        after = self.meter.snapshot()
        counters = self.executor.stop()
        committed = self.jobs.committed_results()
        return {
            "scenario": a.command, "label": a.label, "rate": None, "jobs": 1, "results": len(rows), "batch": a.batch,
            "addresses": a.addresses, "results_committed": committed,
            "lost": counters["results_confirmed"] - committed if committed < counters["results_confirmed"] else 0,
            "doubled": 0, "unconfirmed": len(rows) - counters["results_confirmed"],
            "results_per_s": round(counters["results_confirmed"] / max(0.001, counters["callback_s"]), 1),
            **measure.difference(before, after, committed),
            "admin_rss_peak_mb": round(self.meter.rss_peak / 2**20, 1) if self.admin.pid else None,
            "executor": counters}, ""


class BeatRun(Run):
    """Very many executors that register at the same moment, round after round."""

    def execute(self):
        a = self.arguments
        self.start_admin()
        self.jobs.create_group([], a.token or "default_token", True)
        before = self.meter.snapshot()
        self.start_executor(beats=a.executors, rounds=a.repeat)
        try:
            self.executor.process.wait(60 + 60 * a.repeat)
        except subprocess.TimeoutExpired as error:
            raise OSError(f"the beats are not answered, see {self.executor.log_path}") from error
        after = self.meter.snapshot()
        counters = self.executor.stop()
        rounds = counters["rounds"]
        end = time.monotonic() + REGISTERED_S
        while self.jobs.beating_addresses() < a.executors and time.monotonic() < end:
            time.sleep(0.2)
        slowest = max(rounds, key=lambda one: one["seconds"])
        return {
            "scenario": a.command, "label": a.label, "rate": None, "jobs": 0, "executors": a.executors,
            "lost": 0, "doubled": 0,
            "beat_s": slowest["seconds"], "first_beat_s": rounds[0]["seconds"], "beat_p99_ms": slowest["p99_ms"],
            "refused": sum(one["refused"] for one in rounds), "rounds": rounds,
            "registered": self.jobs.beating_addresses(),
            **measure.difference(before, after, a.executors * a.repeat),
            "admin_rss_peak_mb": round(self.meter.rss_peak / 2**20, 1) if self.admin.pid else None,
            "executor": counters}, ""


RUNS = {"callbacks": CallbackRun, "beats": BeatRun}


def run(arguments):
    """One run of a scenario: (result, text of the audit)."""
    folder = arguments.work or tempfile.mkdtemp(prefix="bench-")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    keep_files = arguments.keep or arguments.work
    try:
        with RUNS.get(arguments.command, Run)(arguments, folder) as one:
            result, remarks = one.execute()
    except BaseException:
        if any(pathlib.Path(folder).iterdir()):
            say(f"files of the run are in {folder}")
        elif not arguments.work:
            pathlib.Path(folder).rmdir()
        raise
    if not keep_files:
        shutil.rmtree(folder)
    else:
        say(f"files are in {folder}; the group is {one.jobs.app_name}")
    return result, remarks
