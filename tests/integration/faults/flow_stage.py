# SPDX-License-Identifier: MIT
"""A cluster that runs flows of several shapes, started all the time, while its nodes are hurt."""
import http.client
import json
import threading
import time

from harness.cluster import TOKEN
from harness.executors import Reply, ScriptedExecutor, callback_entry
from harness.flows import Flows
from harness.process import wait_until
from harness.proxy import Proxy

NODES = ("node-a", "node-b", "node-c")
FAIR = [2, 3, 3]
RUNS_PER_SECOND = 4
ITEMS = 30
WHOLE_S = 60
ENDED_S = 180  # a fire whose node died in the act of sending it is ended after 60 s, and has its tries
CALLBACKS = 50  # in one call


class _Always:
    """The same reply to every handler."""

    def __init__(self, reply):
        self.reply = reply

    def get(self, *_):
        return self.reply


class EndingExecutor(ScriptedExecutor):
    """
    Ends its runs by itself, at once or after a while. As executors do, it repeats what no admin has confirmed. `end`
    is asked for the code and the message, by the name of the handler.
    """

    def __init__(self, rng, end):
        super().__init__(paths=("/run", "/kill"))
        self.nodes = []
        self.rng = rng
        self.end = end
        self.reported = {}  # log id -> (when it was first told, code)
        self._waiting = []  # (when, log id, code, message)
        self._turn = threading.Condition()
        self._closing = False
        self.replies = _Always(Reply(before=self._plan))
        self._thread = threading.Thread(target=self._call_back, daemon=True)
        self._thread.start()

    def _plan(self, request):
        if request.path != "/run":
            return
        with self._turn:
            after_s = 0 if self.rng.random() < 0.5 else self.rng.random() * 1.5
            self._waiting.append((time.time() + after_s, request.logId, *self.end(self.rng, request.executorHandler)))
            self._turn.notify()

    def _take_due(self):
        with self._turn:
            now = time.time()
            due = sorted(entry for entry in self._waiting if entry[0] <= now)[:CALLBACKS]
            if not due:
                self._turn.wait(min([entry[0] - now for entry in self._waiting] + [0.2]))
            self._waiting = [entry for entry in self._waiting if entry not in due]
            return due

    def _call_back(self):
        while not self._closing:
            due = self._take_due()
            for _, log_id, code, _ in due:
                self.reported.setdefault(log_id, (time.time(), code))
            while due and not self._closing and not self._confirmed([callback_entry(*entry[1:]) for entry in due]):
                self._turn_away()

    def _turn_away(self):
        with self._turn:
            self._turn.wait(0.1)

    def _confirmed(self, entries):
        for node in self.rng.sample(self.nodes, len(self.nodes)):
            try:
                if node.post("/api/callback", entries, TOKEN, seconds=3).code == 200:
                    return True
            except (OSError, ValueError, KeyError, http.client.HTTPException):
                pass
        return False

    def close(self):
        self._closing = True
        super().close()
        self._thread.join()


# How often a run of the handler fails, and the retries of its job.
HANDLERS = {"good": (0.05, 2), "flaky": (0.4, 1), "bad": (0.5, 0), "item": (0.1, 2), "source": (0, 0),
            "shard": (0.2, 2)}


def end_run(rng, handler):
    """(code, message)"""
    if rng.random() < HANDLERS[handler][0]:
        return 500, "no"
    if handler == "source":
        return 200, json.dumps(list(range(ITEMS)))
    return 200, json.dumps({"n": rng.randrange(10)})


def job(name, job_id, **members):
    return {"name": name, "type": "job", "jobId": job_id, **members}


def edge(first, second, **members):
    return {"from": first, "to": second, **members}


def shapes(jobs):
    """{name: document} of flows; steps stand in an order without edges backwards."""
    good, bad = jobs["good"], jobs["bad"]
    fan = [f"b{i}" for i in range(5)]
    few = {"all": [{"path": "steps.a.result/n", "is": "<", "value": 5}]}
    many = {"all": [{"path": "steps.a.result/n", "is": ">=", "value": 5}]}
    return {
        "line": {"steps": [job(name, jobs["flaky"] if name == "c" else good, param="${run.id}") for name in "abcde"],
                 "edges": [edge(a, b) for a, b in zip("abcd", "bcde")]},
        "fan": {"steps": [job("a", good), *(job(name, jobs["flaky"]) for name in fan), job("all", good),
                          job("any", good, join="any")],
                "edges": [edge("a", name) for name in fan] + [edge(name, "all", on="end") for name in fan]
                + [edge(name, "any") for name in fan]},
        "map": {"steps": [job("source", jobs["source"]),
                          {"name": "each", "type": "map", "jobId": jobs["item"], "items": "steps.source.result",
                           "param": "${index}:${item}", "parallel": 7}, job("last", good)],
                "edges": [edge("source", "each"), edge("each", "last", on="end")]},
        "branches": {"steps": [job("a", bad), job("few", bad), job("many", good), job("handler", good),
                               job("mends", good), job("end", good, join="any")],
                     "edges": [edge("a", "few", when=few), edge("a", "many", when=many),
                               edge("a", "handler", on="failure"), edge("few", "mends", on="failure"),
                               edge("few", "end"), edge("many", "end"), edge("handler", "end"), edge("mends", "end")]},
        "nested": {"steps": [{"name": "wait", "type": "wait", "seconds": 1},
                             {"name": "shards", "type": "broadcast", "jobId": jobs["shard"]},
                             {"name": "sub", "type": "flow", "flow": "line"}, job("last", good)],
                   "edges": [edge("wait", "shards"), edge("wait", "sub"), edge("shards", "last", on="end"),
                             edge("sub", "last", on="end")]},
    }


class FlowStage(Flows):
    """Nodes with proxies to the database, two executors, and a thread that starts runs."""

    def __init__(self, world, rng):
        self.world, self.tables, self.rng = world, world.tables, rng
        self.combined = False  # as the scenarios of other stages have it
        self.taken = set()
        self.nodes = []
        self.links = {}
        self.stood_still = 0  # rounds in which flows waited for a node that does not know them
        for name in NODES:
            self.links[name] = Proxy(world.server.port)
            self.nodes.append(world.node(name, {"spring.datasource.url": world.server.jdbc_url(
                world.tables.database, port=self.links[name].port)}))
        self.tables.wait_owners(FAIR)
        self.executors = [EndingExecutor(rng, end_run) for _ in range(2)]
        for executor in self.executors:
            executor.nodes = self.nodes
            world.others.append(executor)
        self.group = world.group(*self.executors)
        self.jobs = {
            handler: self.add_job(handler, executor_fail_retry_count=retries, executor_route_strategy=(
                "SHARDING_BROADCAST" if handler == "shard" else "ROUND"))
            for handler, (_, retries) in HANDLERS.items()}
        self.documents = {self.add(name, **document): document for name, document in shapes(self.jobs).items()}
        self._ending = threading.Event()
        self._starter = threading.Thread(target=self._start_runs, daemon=True)
        self._starter.start()

    def _start_runs(self):
        ids = sorted(self.documents)
        connection = self.world.server.connect(self.tables.database)
        number = 0
        with connection, connection.cursor() as cursor:
            while not self._ending.wait(1 / RUNS_PER_SECOND):
                cursor.execute(
                    "INSERT INTO shardwheel_flow_run (flow_id, version, state, kind, due_s, depth, who, created_ms, "
                    "look_ms, late_told) VALUES (%s, 1, 1, 'M', 1790000000, 0, 'test', 1, 0, 0)",
                    (ids[number % len(ids)],))
                number += 1

    def pick(self, rng):
        node = rng.choice([node for node in self.nodes if node.name not in self.taken])
        self.taken.add(node.name)
        return node

    def pass_time(self, seconds):
        """How long a fault lasts is part of the scenario: nothing is waited for."""
        threading.Event().wait(seconds)

    def wait_whole(self):
        wait_until(self._is_whole, WHOLE_S, "the cluster to be whole again")

    def _is_whole(self):
        for node in self.nodes:
            if not node.running():  # as a service manager does
                assert node.popen.returncode >= 0 or node.popen.returncode == -9, node.tail()
                node.start(None)
            assert node.is_healthy()
        owners = self.tables.owners()
        assert sorted(owners) == sorted(NODES) and sorted(owners.values()) == FAIR, f"owners are {owners}"
        return True

    def count_tries(self):
        """Fires of flows there have been."""
        return self.tables.value("SELECT COALESCE(MAX(id), 0) FROM xxl_job_log")

    def wait_progress(self):
        """Of runs: more fires than now."""
        seen = self.count_tries()
        wait_until(lambda: self.count_tries() > seen, WHOLE_S, "flows to go on")

    def open_runs(self):
        return self.tables.value("SELECT COUNT(*) FROM shardwheel_flow_run WHERE ended_ms IS NULL")

    def settle(self):
        """No run starts any more, and all that there are have ended."""
        self._ending.set()
        self._starter.join()
        wait_until(lambda: not self.open_runs(), ENDED_S, "the ends of all flow runs")

    def close(self):
        self._ending.set()
        for proxy in self.links.values():
            proxy.close()
