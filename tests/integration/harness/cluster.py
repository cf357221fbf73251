# SPDX-License-Identifier: MIT
"""Nodes, executors and tables of one test, put up and taken down together."""
import json
import os
import subprocess

from .executors import LoadExecutor, ScriptedExecutor
from .jobs import JobTables
from .node import ROOT, Node, end_together, options, run_shardwheel

TOKEN = "default_token"


class World:
    """
    One database with its tables, and what the test starts on it. Nodes coordinate through ZooKeeper, under a path of
    this world's own, when one is given, and else stand alone.
    """

    count = 0

    def __init__(self, server, folder, zookeeper=None, family="3.4", charset="utf8mb4", create=True):
        World.count += 1
        self.server = server
        self.zookeeper = zookeeper
        self.folder = str(folder)
        self.base_path = f"/world-{World.count}/xxl-job"
        self.tables = JobTables(server, family, charset, create)
        self.nodes = []
        self.others = []

    def keys(self):
        keys = {
            "spring.datasource.url": self.server.jdbc_url(self.tables.database),
            "spring.datasource.username": self.server.user,
            "spring.datasource.password": self.server.password,
            "xxl.job.accessToken": TOKEN,
            "xxl.job.i18n": "en",
            "shardwheel.coordination": "standalone",
        }
        if self.zookeeper:
            keys.update({
                "shardwheel.coordination": "zookeeper", "shardwheel.zookeeper.servers": self.zookeeper.servers,
                "shardwheel.zookeeper.base-path": self.base_path,
            })
        return keys

    def node(self, name="node-a", keys=None, healthy_within=20, environment=None, program=None):
        """Starts a node, of that program instead of the present build. A key that is None is left out."""
        merged = {**self.keys(), **(keys or {})}
        node = Node(name, self.folder, {key: value for key, value in merged.items() if value is not None})
        node.env = {**node.env, **(environment or {})}
        node.command[0] = program or node.command[0]
        self.nodes.append(node)
        return node.start(healthy_within)

    def node_from_file(self, path, port, name="node-a"):
        """Starts a node that has a properties file and no keys besides."""
        node = Node(name, self.folder, {"server.port": port}, ["--config", str(path)])
        node.command = node.command[:3]
        self.nodes.append(node)
        return node.start()

    def ctl(self, *arguments, seconds=90):
        """Runs `shardwheel ctl` with the settings of this world's nodes."""
        return run_shardwheel(["ctl", *arguments, *options(self.keys())], seconds)

    def executor(self, **options):
        executor = ScriptedExecutor(**options)
        self.others.append(executor)
        return executor

    def load_executor(self, nodes, **options):
        executor = LoadExecutor(self.folder, [node.url for node in nodes], token=TOKEN, **options)
        self.others.append(executor)
        executor.start()
        return executor

    def group(self, *executors, app_name="scripted", token=None):
        """A group with the addresses of those executors."""
        return self.tables.add_group(app_name, [e.address for e in executors], token)

    def audit(self, executors, from_s, to_s, jobs=None, worst=20, seconds=300):
        """
        Compares due times, rows and arrivals of the running jobs, or of those that the text `jobs` names (1-9,12); its
        findings, with so many offences, whatever its exit status. Without executors, rows that one accepted count.
        """
        executors = executors if isinstance(executors, (list, tuple)) else [executors]
        out = os.path.join(self.folder, f"audit-{from_s}-{to_s}.json")
        done = subprocess.run(
            [os.path.join(ROOT, "tools", "audit"), "--db", self.server.audit_url(self.tables.database),
             "--from", str(from_s), "--to", str(to_s), "--json", out, "--worst", str(worst)]
            + (["--jobs", jobs] if jobs else []) + ["--arrivals"] * bool(executors)
            + [executor.arrivals_path for executor in executors],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds,
        )
        assert os.path.exists(out), f"audit ended with status {done.returncode}:\n{done.stdout}"
        with open(out, encoding="utf-8") as text:
            return json.load(text), done

    def close(self):
        """Ends everything; fails when a node has left a sanitizer report."""
        try:
            for other in self.others:
                if isinstance(other, ScriptedExecutor):
                    other.close()
                else:
                    other.kill()
            end_together(self.nodes)
        finally:
            for node in self.nodes:
                node.kill()
            self.tables.drop()
        for node in self.nodes:
            node.check_sanitizers()
