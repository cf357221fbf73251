# SPDX-License-Identifier: MIT
"""The stage of a soak: what a user of shardwheel has around it, all of it at work."""
import contextlib
import os
import time

from faults.scenarios import fault
from faults.stage import Stage
from harness.builds import go_executor, java_classpath, python_executor
from harness.cluster import TOKEN
from harness.executors import GoExecutor, JavaExecutor, PythonExecutor, Reply
from harness.node import options, run_shardwheel
from harness.pair import start_pair
from harness.process import wait_until
from harness.webhooks import Webhooks
from harness.zookeeper import ZooKeeperEnsemble

OLD_ROWS = 20000  # for the cleaning
SOAK_SCENARIOS = {}


class SoakStage(Stage):
    """
    Two nodes, three ZooKeeper servers, a MariaDB with a replica, the load executor, real executors in Java, Go and
    Python, an executor whose runs fail, and a receiver of what alarms tell of it. Each node reaches the primary and the
    first ZooKeeper server through its proxies, and the other servers directly.
    """

    names = ("node-a", "node-b")

    def __init__(self, *arguments, **named):
        self.hooks = Webhooks()
        self.real = []           # executors
        self.real_jobs = ""      # their ids, as the audit takes them
        super().__init__(*arguments, **named)

    def start_database(self, template, options):
        return start_pair(template, options=options)

    def start_zookeeper(self):
        return ZooKeeperEnsemble().start()

    def node_keys(self, name, keys=None):
        links = self.links.get(name, {})
        ports = [links["database"].port if links else self.database.primary.port, self.database.replica.port]
        first = f"127.0.0.1:{links['zookeeper'].port}" if links else self.zookeeper.members[0].servers
        return {
            "spring.datasource.url": self.database.jdbc_url(self.world.tables.database, ports=ports),
            "shardwheel.zookeeper.servers": ",".join([first, *(m.servers for m in self.zookeeper.members[1:])]),
            "shardwheel.alarm.channels": f"json={self.hooks.url('json')}", "xxl.job.logretentiondays": 7,
            **(keys or {}),
        }

    def _set_up(self):
        super()._set_up()
        self.steady, self.sometimes = self.nodes
        self._add_real()
        self._add_failing()
        self._add_old_rows()
        self.must_end = f"job_id BETWEEN {self.load_jobs.replace('-', ' AND ')}"

    def _add_real(self):
        admins = [node.url for node in self.nodes]
        self.real = [
            JavaExecutor(self.folder, "3.3.2", java_classpath("3.3.2"), admins, "real-java", TOKEN),
            GoExecutor(self.folder, go_executor(), admins[0], "real-go", TOKEN),
            PythonExecutor(self.folder, *python_executor(), admins[1], "real-python", TOKEN),
        ]
        for executor in self.real:
            self.world.others.append(executor)
            executor.start().wait_ready(60)
        groups = [self.world.tables.add_group(f"real-{executor.name.split('-')[0]}", [executor.address])
                  for executor in self.real]
        go = groups[1]  # has one state for each handler
        jobs = [self.world.tables.add_job(group, "demoJobHandler" + (suffix if group == go else ""), next_in=5)
                for group in groups for suffix in ("", ".serial", ".cover")]
        self.real_jobs = f"{jobs[0]}-{jobs[-1]}"
        self.real_from_s = int(time.time()) + 10  # they are due from now on; a busy machine is slow to come here
        # A clock that is set forward before that would be ahead of who made them (docs/faults.md).
        wait_until(lambda: self.value("SELECT COUNT(DISTINCT job_id) FROM xxl_job_log WHERE job_id BETWEEN %s AND %s",
                                      (jobs[0], jobs[-1])) == len(jobs), 60, "each job of real executors in the log")

    def _add_failing(self):
        failing = self.world.executor()
        failing.replies["failing"] = Reply({"code": 500, "msg": "as it is meant to"})
        self.world.tables.add_job(self.world.group(failing, app_name="failing"), "failing", cron="0/20 * * * * ?")

    def _add_old_rows(self):
        self.world.tables.execute(
            "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status)"
            f" SELECT 1, 1, NOW() - INTERVAL 40 DAY, 200, 200, 1 FROM seq_1_to_{OLD_ROWS}")

    def old_rows(self):
        return self.value("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_time < NOW() - INTERVAL 30 DAY")

    def real_without_end(self):
        first, last = self.real_jobs.split("-")
        return self.value("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code IN (0, 200) AND handle_code = 0"
                          " AND job_id BETWEEN %s AND %s", (first, last))

    def processes(self):
        """All that are looked at."""
        return [*self.nodes, *(server.process for server in self.database.hosts),
                *(member.process for member in self.zookeeper.members), self.load, *self.real]

    def close(self):
        try:
            super().close()
        finally:
            self.hooks.close()
            if self.database:
                self.database.remove()


def soak_fault(**how):
    return fault(table=SOAK_SCENARIOS, **how)


@soak_fault(hurts="executors", seconds=(1, 6))
def executor_restarted(stage, rng):
    """One of the real executors ends, as at a deployment, and starts again."""
    executor = rng.choice(stage.real)
    with contextlib.suppress(AssertionError):  # one that does not end by itself is killed
        executor.terminate(10)
    executor.kill()
    yield
    executor.start().wait_ready(60)


@soak_fault(hurts="zookeeper", seconds=(0.5, 8))
def zookeeper_server_restarted(stage, rng):
    """One of the three is killed, the leader now and then."""
    member = rng.choice(stage.zookeeper.members)
    member.stop()
    yield
    member.start()


@soak_fault(hurts="all", seconds=(0, 1))
def nodes_rolled(stage, rng):
    """A rolling restart: each node that may be stopped, one after the other, the next one when all is whole."""
    for node in [node for node in stage.nodes if node.name not in stage.taken]:
        assert node.terminate(40) == 0, f"{node.name} ended badly\n{node.tail()}"
        node.start(40)
        stage.wait_whole()
    yield


@soak_fault(hurts="all", seconds=(0, 2))
def resharded(stage, rng):
    """Another number of shards, and back."""
    for shards in (rng.choice((3, 5, 13)), 8):
        keys = {**stage.world.keys(), **stage.node_keys(stage.steady.name)}
        done = run_shardwheel(["ctl", "reshard", shards, *options(keys)], 120)
        assert done.returncode == 0, f"reshard {shards} ended with status {done.returncode}: {done.stdout}{done.stderr}"
        stage.pass_time(rng.uniform(0, 2))
    yield


def logs_of(stage, folder):
    """{process name: lines of its log}"""
    found = {}
    for node in stage.nodes:
        with open(os.path.join(folder, f"{node.name}.log"), "rb") as log:
            found[node.name] = sum(1 for _ in log)
    return found
