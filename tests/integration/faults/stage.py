# SPDX-License-Identifier: MIT
"""A cluster of real servers and nodes under load, in which every part can be hurt by itself."""
import contextlib
import os
import re
import shutil
import statistics
import tarfile
import threading
import time

from harness import databases
from harness.clock import SteppedClock
from harness.cluster import World
from harness.process import wait_until
from harness.proxy import Proxy
from harness.shim import build_shim
from harness.zookeeper import ZooKeeper

NODES = ("node-a", "node-b", "node-c")
SHARDS = 8
HEAVY_FIRES = 1000     # more fires than so many per second need a database with room
ANSWER_DELAY_MS = 150  # so that a node which dies has fires in flight now and then
SESSION_TIMEOUT_S = 4  # the default of shardwheel.zookeeper.session-timeout
WHOLE_S = 60           # longest wait until a cluster is whole again
SETTLE_S = 120         # longest wait until every fire has its end: 40 s after the last takeover, and the way there
_EVENT = re.compile(r"time=(\S+)Z level=\w+ area=\w+ event=(\w+)(.*)")
# Rows of planned fires without an end, ours and a Java admin's, which have no mark; their due seconds.
_UNFINISHED = ("trigger_code IN (0, 200) AND handle_code = 0 AND"
               " (trigger_msg LIKE '<!--sw:p:%%' OR COALESCE(trigger_msg, '') NOT LIKE '<!--sw:%%')")
_DUE_S = ("IF(trigger_msg LIKE '<!--sw:p:%%', CAST(SUBSTRING(trigger_msg, 10, 10) AS SIGNED),"
          " UNIX_TIMESTAMP(trigger_time))")


def fair(live):
    """How many shards each of so many nodes has."""
    return sorted((SHARDS + k) // live for k in range(live))


class Part:
    """Due seconds of some jobs, which are audited together."""

    def __init__(self, from_s, jobs, executor, late_p99_ms=None):
        self.from_s = from_s
        self.to_s = None  # until the end of its span
        self.jobs = jobs  # ids, as the audit takes them
        self.executor = executor
        self.late_p99_ms = late_p99_ms  # no later than this may 99 of 100 be


class Span:
    """
    The due seconds of one scenario. The first part is that of the load that is always there; others are of jobs that
    the scenario has brought along, or look closer at some seconds of the first.
    """

    def __init__(self, scenario, main):
        self.scenario = scenario
        self.parts = [main]

    def end(self, to_s):
        for part in self.parts:
            part.to_s = part.to_s or to_s


class Stage:
    """
    Nodes, each with proxies of its own towards the database and ZooKeeper and with a clock that can be set; both
    servers belong to the stage. Several scenarios follow each other on one stage, and each due second of its life
    belongs to one of them.
    """

    names = NODES
    must_end = "TRUE"  # of the planned rows: those whose ends are waited for

    def __init__(self, template, folder, fires_per_second, has_room=False):
        self.folder = str(folder)
        self.fires_per_second = fires_per_second
        self.dead = False  # a scenario has failed here: nothing more is to begin
        self.began_mono = time.monotonic()
        room = ["--innodb-buffer-pool-size=64M"]
        if has_room or fires_per_second > HEAVY_FIRES:
            room = ["--innodb-buffer-pool-size=2G", "--innodb-log-file-size=1G"]
        self.database = self.start_database(template, ["--innodb-flush-log-at-trx-commit=1", *room])
        self.zookeeper = None
        self.ensemble = None  # another ZooKeeper, while the nodes are at one
        self.world = None
        self.proxies = []
        self.nodes = []     # all that are expected to run
        self.clocks = {}
        self.links = {}     # node name -> {"database": proxy, "zookeeper": proxy}
        self.combined = False  # several faults at once: the promises are for one
        self.spans = []
        self.excused = set()  # (job id, due second) that somebody else has taken on, and may have lost
        self.taken = set()  # names of nodes that a fault of this round is at
        self.restarts = 0   # of nodes that ended by themselves while something was broken
        self.measured = {}  # name -> seconds
        self.bounds = {}    # name -> the most that is accepted
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def start_database(self, template, options):
        return databases.start_mariadb(template, options, may_all=False)

    def start_zookeeper(self):
        return ZooKeeper().start()

    def _set_up(self):
        shim = build_shim("clock_shim", self.folder)
        self.zookeeper = self.start_zookeeper()
        self.world = World(self.database, self.folder, zookeeper=self.zookeeper)
        for name in self.names:
            self.clocks[name] = SteppedClock(shim, self.folder, name)
            self.links[name] = {
                "database": self._proxy(self.database.port), "zookeeper": self._proxy(self.zookeeper.port)
            }
            self.add_node(name)
        self.wait_whole()
        # Enough for one node alone, which has four requests at a time at each address.
        addresses = max(40, self.fires_per_second // 20)
        executor = self.world.load_executor(self.nodes, addresses=addresses, answer_delay_ms=ANSWER_DELAY_MS)
        self.load = executor
        self.load_jobs, self._first_s = self.add_load(executor, self.fires_per_second)
        executor.wait_arrivals(self.fires_per_second, 30)

    def _proxy(self, port):
        proxy = Proxy(port)
        self.proxies.append(proxy)
        return proxy

    def add_load(self, executor, fires_per_second):
        """(the ids of the jobs as a text, their first second) of a group of that executor."""
        group = self.world.tables.add_group(executor.app_name, executor.addresses)
        first_s = self.world.tables.add_load(group, fires_per_second)
        ids = self.world.tables.rows("SELECT id FROM xxl_job_info WHERE job_group = %s ORDER BY id", (group,))
        if ids[-1]["id"] - ids[0]["id"] >= len(ids):  # servers of a cluster leave some out
            return ",".join(str(row["id"]) for row in ids), first_s
        return f"{ids[0]['id']}-{ids[-1]['id']}", first_s

    # Nodes

    def node_keys(self, name, keys=None):
        links = self.links.get(name)
        if not links:
            return dict(keys or {})
        return {
            "spring.datasource.url": self.database.jdbc_url(self.world.tables.database, port=links["database"].port),
            "shardwheel.zookeeper.servers": f"127.0.0.1:{links['zookeeper'].port}",
            **(keys or {}),
        }

    def add_node(self, name, keys=None, healthy_within=20):
        clock = self.clocks.get(name)
        node = self.world.node(name, self.node_keys(name, keys), healthy_within, clock.environment() if clock else None)
        self.nodes.append(node)
        return node

    def remove_node(self, node):
        """It is not expected to run any more."""
        self.nodes.remove(node)

    def pick(self, rng):
        """A node that no other fault of this round is at; it is this fault's until the round has ended."""
        free = [node for node in self.nodes if node.name not in self.taken and node.running()]
        assert free, f"no node is left to be hurt: {self.taken} are already"
        node = rng.choice(free)
        self.taken.add(node.name)
        return node

    def link(self, node, to):
        """The proxy between a node and "database" or "zookeeper"."""
        return self.links[node.name][to]

    # Time

    def pass_time(self, seconds):
        """How long a fault lasts is part of the scenario: nothing is waited for."""
        threading.Event().wait(seconds)

    def wait_whole(self, seconds=WHOLE_S):
        """Every node is up and has its fair share, and planning and cursors are at the present second."""
        wait_until(self._is_whole, seconds, "the cluster to be whole again")

    def _is_whole(self):
        for node in self.nodes:
            if not node.running():
                status = node.popen.returncode
                assert status >= 0 or status == -9, f"{node.name} died of signal {-status}\n{node.tail()}"
                # As a service manager does: a node that cannot reach its servers at start ends, and is tried again.
                self.restarts += 1
                node.start(None)
                raise AssertionError(f"{node.name} had ended with status {status}: started again")
        for node in self.nodes:
            answer = node.request("GET", "/actuator/health", seconds=2)
            assert answer.status == 200 and answer.json["status"] == "UP", f"{node.name}: {answer.text}"
        owners = self.owners()
        assert sorted(owners) == sorted(node.name for node in self.nodes), f"owners are {owners}"
        assert sorted(owners.values()) == fair(len(self.nodes)), f"owners are {owners}"
        self.assert_present()
        return True

    def assert_present(self):
        """Nothing that was due is still to be planned, and the cursors are at the present second."""
        cursors = [row["cursor_s"] for row in
                   self.rows(f"SELECT cursor_s FROM shardwheel_cursor WHERE shard < {SHARDS}")]
        now_s = time.time()
        assert now_s - 2 < min(cursors), f"the last cursor is at {min(cursors)}, {now_s - min(cursors):.1f} s ago"
        assert max(cursors) < now_s + 0.5, f"the first cursor is at {max(cursors)}, {max(cursors) - now_s:.1f} s ahead"
        overdue = self.value(
            "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time < %s",
            ((now_s - 2) * 1000,),
        )
        assert not overdue, f"{overdue} jobs are due and not planned"

    # Database

    def value(self, sql, values=()):
        return self._query(self.world.tables.value, sql, values)

    def rows(self, sql, values=()):
        return self._query(self.world.tables.rows, sql, values)

    def owners(self):
        return self._query(self.world.tables.owners)

    def _query(self, call, *arguments):
        """The connection of the tables may have gone with its server."""
        try:
            return call(*arguments)
        except databases.pymysql.err.Error:
            self.world.tables.reconnect()
            return call(*arguments)

    # What the logs say

    def events(self, since_s):
        """[(wall second, node name, event, {field: text})] of all nodes since then, in the order of time."""
        found = []
        for node in self.world.nodes:
            for line in node.log_text().splitlines():
                match = _EVENT.match(line)
                if not match:
                    continue
                at_s = _parse_time(match[1])
                if at_s >= since_s:
                    found.append((at_s, node.name, match[2], dict(re.findall(r"(\w+)=(\S+)", match[3]))))
        return sorted(found, key=lambda event: event[0])

    def measure(self, name, seconds, at_most):
        """Notes a figure of this round; that it is not above what is accepted is looked at when all rounds are done."""
        self.measured.setdefault(name, []).append(seconds)
        self.bounds[name] = at_most

    def measure_handovers(self, at_least, since_s, at_most):
        """From each handover to the next takeover of the same shard; there must be so many."""
        if self.combined:
            return
        self.wait_whole()
        begun, count = {}, 0
        for at_s, _, event, fields in self.events(since_s):
            if event == "handover":
                begun[fields["shard"]] = at_s
            elif event == "takeover" and fields["shard"] in begun:
                self.measure("ownerless", at_s - begun.pop(fields["shard"]), at_most)
                count += 1
        assert count >= at_least, f"{count} shards were handed over and taken, {at_least} were to be"

    def measure_takeovers(self, shards, since_s, at_most):
        """From that moment to the takeover of the last one of these shards."""
        if self.combined:
            return

        def after():
            seen = {}
            for at_s, _, event, fields in self.events(since_s):
                if event == "takeover":
                    seen.setdefault(int(fields["shard"]), at_s - since_s)
            missing = sorted(set(shards) - set(seen))
            assert not missing, f"nobody has taken over the shards {missing}"
            return max(seen[shard] for shard in shards)

        self.measure("taken over", wait_until(after, WHOLE_S, "takeovers of all shards"), at_most)

    def measure_back(self, since_s, at_most):
        """From the return of a server until planning and cursors are at the present second again."""
        if self.combined:
            return
        wait_until(lambda: self.assert_present() or True, WHOLE_S, "planning and cursors to be at the present second")
        self.measure("back", time.time() - since_s, at_most)

    def epochs(self):
        """The sum of all epochs: each takeover adds one."""
        return self.value("SELECT SUM(epoch) FROM shardwheel_shard")

    def shards_of(self, node):
        if self.combined:
            return []  # for what is measured only, and the database may be away
        rows = self.rows("SELECT shard FROM shardwheel_shard WHERE owner = %s", (node.name,))
        return [row["shard"] for row in rows]

    def take_figures(self):
        """{name: {"rounds", "median", "max"}} of the scenario that ends, and what was above its bound."""
        figures, broken = {}, []
        for name, values in self.measured.items():
            figures[name] = {
                "count": len(values), "median_s": round(statistics.median(values), 2), "max_s": round(max(values), 2),
                "accepted_s": self.bounds[name],
            }
            if max(values) > self.bounds[name]:
                broken.append(f"{name}: {max(values):.2f} s, accepted are {self.bounds[name]} s")
        self.measured, self.bounds = {}, {}
        return figures, broken

    # Spans

    def begin_span(self, scenario):
        from_s = self.spans[-1].parts[0].to_s if self.spans else self._first_s
        self.spans.append(Span(scenario, Part(from_s, self.load_jobs, self.load)))

    def end_span(self):
        # A clock that was ahead has had its cursors up to the second that begins: that one is its span's too. What
        # follows may be over before that: it has one second at least.
        span = self.spans[-1]
        span.end(max(int(time.time()) + (2 if span.scenario.may_be_early else 1), span.parts[0].from_s + 1))

    def count_too(self, executor, fires_per_second):
        """Further jobs of an executor of their own; they stay on the stage and count in this span from now on."""
        jobs, from_s = self.add_load(executor, fires_per_second)
        executor.wait_arrivals(fires_per_second, 20)
        self.spans[-1].parts.append(Part(from_s, jobs, executor))

    @contextlib.contextmanager
    def late_at_most(self, p99_ms):
        """Fires of the load that are due within the block."""
        part = Part(int(time.time()) + 1, self.load_jobs, self.load, p99_ms)
        yield
        part.to_s = int(time.time()) + 1
        self.spans[-1].parts.append(part)

    def settle(self):
        """Waits until every fire that was planned in the spans has its end and every result is written."""
        to_s = self.spans[-1].parts[0].to_s
        wait_until(lambda: time.time() > to_s + 1, 10, f"second {to_s}")
        wait_until(lambda: not self._count_unfinished(to_s), SETTLE_S, f"the ends of the fires until second {to_s}")

    def end_load(self):
        """Nothing falls due any more: the audits have the machine to themselves. Nodes that write may be in the way."""
        for _ in range(5):
            with contextlib.suppress(databases.pymysql.err.Error):
                self._query(self.world.tables.execute,
                            "UPDATE xxl_job_info SET trigger_status = 0, trigger_next_time = 0")
                return

    def end_calmly(self):
        """
        So that what the next scenario does to fires in flight is not told of this one. Fires of killed nodes take long.
        """
        part = self.spans[-1].parts[0]
        deadline_mono = time.monotonic() + 5
        while time.monotonic() < deadline_mono:
            if time.time() > part.to_s and not self._count_unfinished(part.to_s, part.from_s):
                return
            self.pass_time(0.1)

    def _count_unfinished(self, to_s, from_s=0):
        count = self.value(
            f"SELECT COUNT(*) FROM xxl_job_log WHERE {_UNFINISHED} AND {self.must_end}"
            f" AND {_DUE_S} >= %s AND {_DUE_S} < %s", (from_s, to_s)
        )
        self.pass_time(0.5 if count else 0.05)
        return count

    def audit(self, part):
        """(its findings, "excused" of which are not counted as lost, and the process that ended)"""
        found, done = self.world.audit(part.executor, part.from_s, part.to_s, part.jobs, 100000 if self.excused else 20)
        found["excused"] = sum(
            offence["kind"] == "lost" and (offence["job_id"], offence["due_s"]) in self.excused
            for offence in found["offences"]
        )
        found["lost"] -= found["excused"]
        return found, done

    def keep_logs(self, path):
        """Logs of nodes and executors and what arrived, for a look at a failure."""
        with tarfile.open(path, "w:gz") as tar:
            for name in sorted(os.listdir(self.folder)):
                if name.endswith((".log", ".csv", ".json", ".journal")):
                    tar.add(os.path.join(self.folder, name), name)

    def close(self):
        try:
            if self.world:
                self.world.close()
        finally:
            for proxy in self.proxies:
                proxy.close()
            for server in (self.zookeeper, self.database):
                if server:
                    server.stop()
                    shutil.rmtree(server.folder, ignore_errors=True)


def _parse_time(text):
    whole, _, fraction = text.partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")
