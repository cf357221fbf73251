# SPDX-License-Identifier: MIT
"""
What every executor must do, one function for each behaviour: it starts its jobs, yields, and then looks at what came of
them. So the behaviours of one executor wait side by side. Where executors differ, what each does is said here, and in
docs/executors.md.
"""
import os
import time

from .jobs import DONE

SHELL = "echo glue $1 $2/$3\nexit 0\n"
# A field of the class tells whether the class was loaded again.
GROOVY = """
import com.xxl.job.core.context.XxlJobHelper
import com.xxl.job.core.handler.IJobHandler
class Glue extends IJobHandler {
    int count = 0
    void execute() { XxlJobHelper.handleSuccess("%s " + ++count) }
}
"""
GROOVY_2_2 = """
import com.xxl.job.core.biz.model.ReturnT
import com.xxl.job.core.handler.IJobHandler
class Glue extends IJobHandler {
    int count = 0
    ReturnT<String> execute(String param) { return new ReturnT<String>(200, "%s " + ++count) }
}
"""
ENDED = "handle_code <> 0"
ANSWERED = "trigger_code <> 0"


class Executor:
    """A real executor as the behaviours see it."""

    def __init__(self, world, kind, version, process, group, mixed_group, scripted):
        self.world = world
        self.tables = world.tables
        self.kind = kind  # java, go or python
        self.version = version
        self.process = process
        self.group = group
        self.mixed_group = mixed_group  # a scripted executor before this one
        self.scripted = scripted

    def handler(self, name, behaviour):
        """Go has one state for each handler, so each behaviour has its own."""
        return f"{name}.{behaviour}" if self.kind == "go" else name

    def fire(self, handler, count=1, group=None, **columns):
        """A job that is due in this many consecutive seconds, and no more."""
        job = self.tables.add_job(group or self.group, handler, trigger_status=0, **columns)
        self.fire_again(job, count)
        return job

    def fire_again(self, job, count=1, **columns):
        due = int(time.time()) + 2
        if due % 60 + count > 60:
            due += 60 - due % 60
        moment = time.gmtime(due)
        seconds = ",".join(str(moment.tm_sec + i) for i in range(count))
        columns.update({
            "schedule_conf": seconds + time.strftime(" %M %H %d %m ? %Y", moment), "trigger_status": 1,
            "trigger_next_time": due * 1000,
        })
        self.tables.execute(
            f"UPDATE xxl_job_info SET {', '.join(f'{name} = %s' for name in columns)} WHERE id = %s",
            (*columns.values(), job))

    def wait(self, job, where=ENDED, count=1, seconds=30):
        return self.tables.wait_logs(job, where, count, seconds)

    def log(self, row):
        """What shardwheelctl prints of the run's log."""
        done = self.world.ctl("log", str(row["id"]))
        assert done.returncode == 0, done.stderr
        return done.stdout


def success(x):
    job = x.fire("demoJobHandler", executor_param="größer & 'kleiner' 😀")
    yield
    row = x.wait(job, DONE)[0]
    assert row["handle_msg"] == "param=größer & 'kleiner' 😀 shard=0/1"
    assert row["executor_address"] == x.process.address
    assert row["executor_handler"] == "demoJobHandler"
    assert row["handle_time"] >= row["trigger_time"]


def failure(x):
    job = x.fire("failingJobHandler")
    missing = x.fire("noSuchHandler")
    yield
    row = x.wait(job)[0]
    assert (row["trigger_code"], row["handle_code"]) == (200, 500)
    assert "failing on purpose <&> 😀" in row["handle_msg"]
    row = x.wait(missing, ANSWERED)[0]
    assert (row["trigger_code"], row["handle_code"]) == (500, 0)
    expected = {"java": "job handler [noSuchHandler] not found.", "go": "Task not registered",
                "python": "handler noSuchHandler not found."}
    assert expected[x.kind] in row["trigger_msg"]


def timeout(x):
    job = x.fire(x.handler("sleepingJobHandler", "timeout"), executor_param="30000", executor_timeout=1)
    yield
    row = x.wait(job)[0]
    expected = {"java": (502, "job execute timeout"), "python": (500, "TimeoutError"),
                "go": (200, "ended early: context deadline exceeded")}  # whatever a handler returns is a success
    assert row["handle_code"] == expected[x.kind][0] and expected[x.kind][1] in row["handle_msg"], row["handle_msg"]


def kill(x):
    job = x.fire(x.handler("sleepingJobHandler", "kill"), executor_param="60000")
    yield
    row = x.wait(job, "trigger_code = 200")[0]
    assert row["handle_code"] == 0
    done = x.world.ctl("kill", str(row["id"]))
    assert done.returncode == 0, done.stderr
    row = x.wait(job, seconds=5)[0]
    # The executor's own callback may come before the end of the kill; Go's says success.
    own = {"java": "[job running, killed]", "python": "CancelledError", "go": "ended early: context canceled"}[x.kind]
    assert own in row["handle_msg"] or "killed by hand (shardwheelctl)" in row["handle_msg"], row["handle_msg"]
    assert row["handle_code"] == 500 or (x.kind == "go" and own in row["handle_msg"])
    done = x.world.ctl("kill", str(row["id"]))
    assert done.returncode == 1 and "has ended already" in done.stderr


def serial(x):
    job = x.fire(x.handler("sleepingJobHandler", "serial"), 2, executor_param="1500")
    yield
    if x.kind == "go":  # it has no queue
        first, second = x.wait(job, ANSWERED, 2)
        assert (first["trigger_code"], second["trigger_code"]) == (200, 500)
        assert "refused with an array" in second["trigger_msg"] and "There are tasks running" in second["trigger_msg"]
    else:
        first, second = x.wait(job, DONE, 2)
        assert first["handle_msg"] == second["handle_msg"] == "slept 1500 ms"
        assert second["handle_time"] > first["handle_time"]


def discard(x):
    job = x.fire(x.handler("sleepingJobHandler", "discard"), 2, executor_param="1800",
                 executor_block_strategy="DISCARD_LATER")
    yield
    first, second = x.wait(job, ANSWERED, 2)
    assert (first["trigger_code"], second["trigger_code"]) == (200, 500)
    expected = {"java": "block strategy effect：Discard Later", "go": "There are tasks running", "python": "Discard"}
    assert expected[x.kind].lower() in second["trigger_msg"].lower(), second["trigger_msg"]
    assert x.wait(job, DONE)[0]["id"] == first["id"]


def cover(x):
    job = x.fire(x.handler("sleepingJobHandler", "cover"), 2, executor_param="1800",
                 executor_block_strategy="COVER_EARLY")
    yield
    if x.kind == "go":  # both runs report under the id of the later one, and the first one stays open
        second = x.wait(job, DONE)[0]
        first = x.tables.logs(job)[0]
        assert first["id"] < second["id"] and first["handle_code"] == 0
        assert second["handle_msg"] in ("ended early: context canceled", "slept 1800 ms")
        return
    first, second = x.wait(job, ENDED, 2)
    assert (first["handle_code"], second["handle_code"]) == (500, 200)
    expected = {"java": "block strategy effect：Cover Early [job running, killed]", "python": "CancelledError"}
    assert first["handle_msg"] == expected[x.kind]
    assert second["handle_msg"] == "slept 1800 ms"


def broadcast(x):
    job = x.fire(x.handler("demoJobHandler", "broadcast"), group=x.mixed_group, executor_param="b",
                 executor_route_strategy="SHARDING_BROADCAST")
    yield
    row = x.wait(job, DONE)[0]
    assert (row["executor_address"], row["executor_sharding_param"]) == (x.process.address, "1/2")
    assert row["handle_msg"] == "param=b shard=1/2"
    other = x.scripted.wait_runs(job)[0]
    assert (other.broadcastIndex, other.broadcastTotal) == (0, 2)
    assert len(x.tables.logs(job)) == 2


def log(x):
    job = x.fire("loggingJobHandler", executor_param="5")
    yield
    row = x.wait(job, DONE)[0]
    lines = [line for line in x.log(row).splitlines() if "line " in line and "<&> 😀" in line]
    assert [line[line.index("line "):] for line in lines] == [f"line {i} <&> 😀" for i in range(1, 6)], lines


def glue_shell(x):
    """The source as it is now, and the file that an executor keeps of it named by its update time."""
    glue = {"glue_type": "GLUE_SHELL", "glue_source": SHELL, "glue_updatetime": "2024-05-06 07:08:09"}
    job = x.fire("demoJobHandler", 2, executor_param="p", **glue)
    yield
    rows = x.wait(job, DONE, 2)
    if x.kind != "java":  # glue is nothing to it: the job's handler runs
        assert rows[1]["handle_msg"] == "param=p shard=0/1"
        return
    assert "\nglue p 0/1\n" in x.log(rows[1])
    # The same source under the same time goes on in its thread; another one takes its place.
    x.fire_again(job, glue_source=SHELL.replace("glue", "changed"), glue_updatetime="2024-05-06 07:08:10")
    assert "\nchanged p 0/1\n" in x.log(x.wait(job, DONE, 3)[2])
    # Their names have the update time as the executor was told it: 07:08:09 and :10 UTC in milliseconds.
    kept = os.listdir(os.path.join(x.process.log_folder, "gluesource"))
    assert sorted(name for name in kept if name.startswith(f"{job}_")) == [
        f"{job}_1714979289000.sh", f"{job}_1714979290000.sh"]


def glue_groovy(x):
    if x.kind != "java":
        yield
        return
    source = GROOVY_2_2 if x.version.startswith("2.2.") else GROOVY
    first = {"glue_source": source % "first", "glue_updatetime": "2024-05-06 07:08:09"}
    second = {"glue_source": source % "second", "glue_updatetime": "2024-05-06 07:08:10"}
    job = x.fire("", glue_type="GLUE_GROOVY", **first)
    yield
    # One by one: while it compiles, a busy executor may give up the next one.
    x.wait(job, DONE, 1)
    for count, columns in ((2, first), (3, second), (4, second)):
        x.fire_again(job, **columns)
        rows = x.wait(job, DONE, count)
    assert [row["handle_msg"] for row in rows] == ["first 1", "first 2", "second 1", "second 2"]


# Compiling Groovy keeps an executor from answering for seconds, so it comes last.
BEHAVIOURS = [success, failure, timeout, kill, serial, discard, cover, broadcast, log, glue_shell, glue_groovy]


def run(executor, behaviours):
    """{name of the behaviour: None, or what was wrong}"""
    quick = [b for b in behaviours if b is not glue_groovy]
    return {**_run(executor, quick), **_run(executor, [b for b in behaviours if b is glue_groovy])}


def _run(executor, behaviours):
    results = {}
    under_way = [(b.__name__, b(executor)) for b in behaviours]
    for _, steps in under_way:
        next(steps)
    for name, steps in under_way:
        try:
            next(steps, None)
            results[name] = None
        except AssertionError as error:
            results[name] = str(error)
    return results
