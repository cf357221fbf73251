# SPDX-License-Identifier: MIT
"""
A stand-in for the Java admin, which is not published as a package: it schedules from the same tables as that one does,
in a process of its own, so that a test can kill it and a paused one is really paused.

    admin = JavaAdmin(world, version="3.3.2")   # "2.4.2", "3.2.0" or "3.3.2", see STYLES
    admin.start()                               # returns when its schedule thread runs
    admin.rounds()                              # rounds that it has made, see Round
    admin.waiting_s()                           # how long it has waited for its lock by now; None while it does not
    admin.fires()                               # what it has sent, see Fire
    admin.taken()                               # {(job id, due second)} that it has planned or skipped as a misfire
    admin.stop()                                # as the original: plans no more, lets go out what it has planned
    admin.kill()                                # what it had planned is lost; its lock request stays at the server
    admin.pause(), admin.resume()               # of Process

It knows crons of the forms `* * * * * ?` and `a/n * * * * ?`, the route FIRST and groups with addresses by hand. It
differs from the original in this: the schedule thread starts at once instead of after 5 s; `logDateTime` of a request
and `trigger_time` of its row are the due second instead of the moment of sending, so that arrivals can be held against
due times; a ring that was held up by a slow machine leaves no second out; and it is stopped when all is out, or after
drain_s, where the original drops what its threads have not sent.
"""
import json
import os
import queue
import sys
import threading
import time
import urllib.request
from collections import namedtuple

import pymysql

if __package__:
    from .process import Process, wait_until
else:  # the child process runs this file
    Process = object

# What differs between versions: the lock on a connection of its own and all else in auto-commit, or one transaction;
# whether the write-back spares jobs that were stopped meanwhile; how many past slots the ring looks at, and whether a
# slot has a job once.
Style = namedtuple("Style", "one_transaction spares_stopped back_slots once_per_slot second_push")
STYLES = {
    "2.4.2": Style(False, False, 1, False, True),
    "3.2.0": Style(False, True, 1, False, False),
    "3.3.2": Style(True, True, 2, True, False),
}
PRE_READ_MS = 5000
ROW_LIMIT = 6000
SENDERS = 32

# A round: when the lock was asked for, got and given back (epoch seconds), and how many jobs it found.
Round = namedtuple("Round", "asked got ended jobs")
# A fire: by which way (direct, ring, misfire), when it was sent, and the trigger_code that came of it.
Fire = namedtuple("Fire", "job due_s way at log_id code")


class JavaAdmin(Process):
    count = 0

    def __init__(self, world, version="3.3.2", name=None, token="default_token", lock_wait_s=50, drain_s=10):
        JavaAdmin.count += 1
        name = name or f"java-admin-{JavaAdmin.count}"
        self.journal_path = os.path.join(world.folder, f"{name}-{JavaAdmin.count}.journal")
        assert version in STYLES, f"no version '{version}': {sorted(STYLES)}"
        options = {
            "socket": world.server.socket, "database": world.tables.database, "version": version, "token": token,
            "journal": self.journal_path, "lock_wait_s": lock_wait_s, "drain_s": drain_s,
        }
        super().__init__(name, [sys.executable, os.path.abspath(__file__), json.dumps(options)],
                         os.path.join(world.folder, f"{name}.log"))
        world.others.append(self)

    def start(self):
        super().start()
        wait_until(lambda: self._journal("ask"), 20, f"{self.name} to ask for its lock\n{self.tail(20)}")
        return self

    def stop(self, seconds=20):
        return self.terminate(seconds)

    def _entries(self):
        try:
            with open(self.journal_path, encoding="utf-8") as lines:
                return [json.loads(line) for line in lines if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def _journal(self, what):
        return [entry for entry in self._entries() if entry["what"] == what]

    def rounds(self):
        return [Round(e["asked"], e["at"], e["ended"], e["jobs"]) for e in self._journal("round")]

    def fires(self, job=None):
        return [
            Fire(e["job"], e["due"], e["way"], e["at"], e["log"], e["code"])
            for e in self._journal("fire") if job in (None, e["job"])
        ]

    def taken(self):
        return {(job, due_s) for entry in self._journal("took") for job, due_s in entry["dues"]}

    def timeouts(self):
        """How often it waited for the lock in vain (50 s each, unless lock_wait_s says less)."""
        return len(self._journal("timeout"))

    def waiting_s(self):
        last = [e for e in self._entries() if e["what"] in ("ask", "got", "timeout")][-1:]
        if not self.running() or not last or last[0]["what"] != "ask":
            return None
        return time.time() - last[0]["at"]

    def wait_waiting(self, longer_than_s=1.0, seconds=20):
        """Waits until it has been standing by for so long; longer than any of its rounds."""
        wait_until(lambda: (self.waiting_s() or 0) > longer_than_s, seconds, f"{self.name} to stand by")

    def wait_rounds(self, more=1, seconds=20):
        goal = len(self.rounds()) + more
        wait_until(lambda: len(self.rounds()) >= goal, seconds, f"{goal} rounds of {self.name}")


# ---- the child process -----------------------------------------------------------------------------------------------


def next_after(cron, after_s):
    """The first whole second after that one at which the cron is due; None for a cron that is not understood."""
    fields = cron.split()
    if fields[1:6] != ["*", "*", "*", "*", "?"]:
        return None
    start, _, step = fields[0].partition("/")
    seconds = range(60) if start == "*" else range(int(start), 60, int(step or 60))
    for s in range(after_s + 1, after_s + 62):
        if s % 60 in seconds:
            return s
    return None


def dues_between(job, due_s):
    """[job id, due second] from that one on, up to the next time that the job has now."""
    dues = []
    while due_s is not None and (due_s < job["trigger_next_time"] // 1000 or not dues):
        dues.append([job["id"], due_s])
        due_s = next_after(job["schedule_conf"], due_s)
    return dues


class Admin:
    def __init__(self, options):
        self.options = options
        self.style = STYLES[options["version"]]
        self.journal_file = open(options["journal"], "a", encoding="utf-8", buffering=1)
        self.journal_lock = threading.Lock()
        self.ring = {}  # second of the minute -> [(job, due second)]
        self.ring_lock = threading.Lock()
        self.triggers = queue.Queue()
        self.stopping = False
        self.lock_connection = None
        self.asking = False
        self.took = []  # [job, due second] of the jobs that were written back in this round

    def journal(self, what, **more):
        with self.journal_lock:
            self.journal_file.write(json.dumps({"what": what, "at": time.time(), **more}) + "\n")

    def connect(self, autocommit=True):
        connection = pymysql.connect(
            unix_socket=self.options["socket"], user="root", database=self.options["database"], autocommit=autocommit,
            charset="utf8mb4", cursorclass=pymysql.cursors.DictCursor,
        )
        with connection.cursor() as cursor:
            cursor.execute("SET innodb_lock_wait_timeout = %s, time_zone = '+00:00'", (self.options["lock_wait_s"],))
        return connection

    # The schedule thread

    def round(self):
        """True when jobs were found."""
        asked = time.time()
        lock = self.lock_connection = self.connect(autocommit=False)
        rest = lock if self.style.one_transaction else self.connect()
        try:
            self.asking = True
            self.journal("ask")
            try:
                with lock.cursor() as cursor:
                    cursor.execute("SELECT * FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE")
            finally:
                self.asking = False
            got = time.time()
            self.journal("got")
            self.took = []
            found = self.plan(rest, int(time.time() * 1000)) if not self.stopping else 0
            lock.commit()
            self.journal_taken()
            self.journal("round", asked=asked, ended=time.time(), jobs=found, **{"at": got})
            return found > 0
        finally:
            self.lock_connection = None
            if not self.style.one_transaction:
                self.journal_taken()
            for connection in {id(lock): lock, id(rest): rest}.values():
                try:
                    connection.close()
                except pymysql.err.Error:
                    pass

    def journal_taken(self):
        if self.took:
            self.journal("took", dues=self.took)
        self.took = []

    def plan(self, connection, now_ms):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT * FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time <= %s ORDER BY id LIMIT %s",
                (now_ms + PRE_READ_MS, ROW_LIMIT),
            )
            jobs = cursor.fetchall()
            dues_ms = [job["trigger_next_time"] for job in jobs]
            for job in jobs:
                self.handle(job, now_ms)
            for job, due_ms in zip(jobs, dues_ms):
                self.write_back(cursor, job)
                self.took += dues_between(job, due_ms // 1000)
        return len(jobs)

    def handle(self, job, now_ms):
        due_ms = job["trigger_next_time"]
        if now_ms > due_ms + PRE_READ_MS:
            if job["misfire_strategy"] == "FIRE_ONCE_NOW":
                self.trigger(job["id"], due_ms // 1000, "misfire")
            self.advance(job, int(time.time()))
        elif now_ms > due_ms:
            self.trigger(job["id"], due_ms // 1000, "direct")
            self.advance(job, int(time.time()))
            if (self.style.second_push and job["trigger_status"] == 1
                    and now_ms + PRE_READ_MS > job["trigger_next_time"]):
                self.push(job)
        else:
            self.push(job)

    def push(self, job):
        due_s = job["trigger_next_time"] // 1000
        with self.ring_lock:
            self.ring.setdefault(due_s % 60, []).append((job["id"], due_s))
        self.advance(job, due_s)

    def advance(self, job, after_s):
        following = next_after(job["schedule_conf"], after_s)
        if following is None:
            job.update(trigger_status=0, trigger_last_time=0, trigger_next_time=0)
        else:
            job.update(trigger_last_time=job["trigger_next_time"], trigger_next_time=following * 1000)

    def write_back(self, cursor, job):
        sql = ("UPDATE xxl_job_info SET trigger_last_time = %s, trigger_next_time = %s, trigger_status = %s "
               "WHERE id = %s")
        if self.style.spares_stopped:
            sql += " AND trigger_status = 1"
        cursor.execute(sql, (job["trigger_last_time"], job["trigger_next_time"], job["trigger_status"], job["id"]))

    def schedule(self):
        while not self.stopping:
            begin = time.time()
            found = True
            try:
                found = self.round()
            except pymysql.err.Error as error:
                if error.args and error.args[0] == 1205:
                    self.journal("timeout")
                elif not self.stopping:
                    print(f"{time.time():.3f} round failed: {error}", flush=True)
            if time.time() - begin < 1:
                self.sleep((1 if found else 5) - time.time() % 1)

    def sleep(self, seconds):
        end = time.time() + seconds
        while not self.stopping and time.time() < end:
            time.sleep(min(0.1, max(0, end - time.time())))

    # The ring and the triggers

    def turn_ring(self):
        last = int(time.time())
        while True:
            time.sleep(1 - time.time() % 1)
            second = int(time.time())
            behind = min(59, second - last)
            last = second
            for back in range(max(self.style.back_slots, behind) + 1):
                with self.ring_lock:
                    slot = self.ring.pop((second - back) % 60, [])
                for job, due_s in dict(slot).items() if self.style.once_per_slot else slot:
                    self.trigger(job, due_s, "ring")

    def trigger(self, job, due_s, way):
        self.triggers.put((job, due_s, way))

    def send_forever(self):
        connection = None
        while True:
            job, due_s, way = self.triggers.get()
            try:
                connection = connection or self.connect()
                self.send(connection, job, due_s, way)
            except (pymysql.err.Error, OSError) as error:
                print(f"{time.time():.3f} job {job} due {due_s} failed: {error}", flush=True)
                connection = None
            finally:
                self.triggers.task_done()

    def send(self, connection, job_id, due_s, way):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT i.*, g.address_list FROM xxl_job_info i JOIN xxl_job_group g ON g.id = i.job_group "
                "WHERE i.id = %s",
                (job_id,),
            )
            job = cursor.fetchone()
            if not job:
                return
            cursor.execute(
                "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code)"
                " VALUES (%s, %s, %s, 0, 0)",
                (job["job_group"], job_id, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(due_s))),
            )
            log_id = cursor.lastrowid
            address = (job["address_list"] or "").split(",")[0]
            code, message = self.post(address, job, log_id, due_s) if address else (500, "no address")
            cursor.execute(
                "UPDATE xxl_job_log SET executor_address = %s, executor_handler = %s, executor_param = %s,"
                " trigger_code = %s, trigger_msg = %s WHERE id = %s",
                (address, job["executor_handler"], job["executor_param"], code, message, log_id),
            )
        self.journal("fire", job=job_id, due=due_s, way=way, log=log_id, code=code)

    def post(self, address, job, log_id, due_s):
        body = {
            "jobId": job["id"], "executorHandler": job["executor_handler"], "executorParams": job["executor_param"],
            "executorBlockStrategy": job["executor_block_strategy"], "executorTimeout": job["executor_timeout"],
            "logId": log_id, "logDateTime": due_s * 1000, "glueType": job["glue_type"], "glueSource": "",
            "glueUpdatetime": 0, "broadcastIndex": 0, "broadcastTotal": 1,
        }
        request = urllib.request.Request(
            address.rstrip("/") + "/run", json.dumps(body).encode(),
            {"Content-Type": "application/json;charset=UTF-8", "XXL-JOB-ACCESS-TOKEN": self.options["token"]},
        )
        try:
            with urllib.request.urlopen(request, timeout=3) as answer:
                return json.loads(answer.read())["code"], "by the Java stand-in"
        except (OSError, ValueError, KeyError, TypeError) as error:
            return 500, str(error)

    # The process

    def run(self):
        schedule = threading.Thread(target=self.schedule, daemon=True)
        schedule.start()
        for target in [self.turn_ring] + [self.send_forever] * SENDERS:
            threading.Thread(target=target, daemon=True).start()
        wake = threading.Event()
        import signal

        signal.signal(signal.SIGTERM, lambda *_: wake.set())
        wake.wait()
        self.stopping = True
        schedule.join(1)
        if schedule.is_alive() and self.asking:  # the original interrupts its thread; that closes the connection
            lock = self.lock_connection
            with self.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"KILL {lock.thread_id()}")
        schedule.join(5)
        end = time.time() + self.options["drain_s"]
        while time.time() < end and (self.ring or self.triggers.unfinished_tasks):
            time.sleep(0.1)


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    Admin(json.loads(sys.argv[1])).run()
