# SPDX-License-Identifier: MIT
"""Several shardwheel nodes on a fresh database with a load executor, put up and taken down for one measurement."""

import argparse
import contextlib
import http.client
import math
import os
import pathlib
import re
import subprocess
import time

from benchlib import dburl, driver, measure, proc, scenario

TOKEN = "default_token"
STARTED = re.compile(r"event=started .*?\bport=(\d+)\b.*\n")
SETTLE_S = 60  # nodes must have parted the shards among them within
STOP_S = 30


def parse_metrics(text):
    """{'name{label="x"}': value} of a page of metrics."""
    pairs = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def owned_shards(metrics):
    return int(sum(value for name, value in metrics.items() if name.startswith("shardwheel_shard_owned{")))


def is_settled(pages, shards):
    """Whether every shard has its owner and no node more than its fair share, as all nodes see it."""
    owned = [owned_shards(page) for page in pages]
    return (sum(owned) == shards and max(owned) <= math.ceil(shards / len(pages))
            and all(page.get("shardwheel_nodes_live") == len(pages) for page in pages))


class Scraper:
    """Reads pages of one node over one connection; for one thread at a time."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)

    def get(self, path):
        """(status, text). OSError if the node cannot be asked."""
        try:
            self.connection.request("GET", path)
            answer = self.connection.getresponse()
            return answer.status, answer.read().decode("utf-8")
        except http.client.HTTPException as error:
            self.connection.close()  # the next request opens it anew
            raise OSError(f"{path}: {type(error).__name__}") from error
        except OSError:
            self.connection.close()
            raise

    def close(self):
        self.connection.close()


class Node:
    """A shardwheel process. It takes a port that is free when it binds it, and says which in its log."""

    def __init__(self, binary, name, keys, folder):
        self.name = name
        self.port = None
        self.scraper = None
        self.log_path = pathlib.Path(folder) / f"{name}.log"
        keys = {"server.port": 0, "shardwheel.http.bind": "127.0.0.1", "shardwheel.node.name": name, **keys}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([binary, *options(keys)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment(), start_new_session=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def has_started(self):
        """Whether it says so; from then on its port is known."""
        if self.port is None:
            found = STARTED.search(self.log_path.read_text(encoding="utf-8", errors="replace"))
            if not found:
                return False
            self.port = int(found[1])
            self.scraper = Scraper(self.port)
        return True

    def check(self):
        if self.process.poll() is not None:
            raise OSError(f"{self.name} ended with status {self.process.returncode}, see {self.log_path}")

    def metrics(self):
        status, text = self.scraper.get("/metrics")
        if status != 200:
            raise OSError(f"{self.name}: /metrics answers with status {status}")
        return parse_metrics(text)

    def is_healthy(self):
        return self.scraper.get("/actuator/health")[0] == 200


def options(keys):
    return [f"--{key}={value}" for key, value in keys.items()]


def environment():
    """Of this process, without what a node would take as its keys."""
    kept = {name: value for name, value in os.environ.items()
            if not name.upper().startswith(("SHARDWHEEL_", "SPRING_", "XXL_"))}
    return {**kept, "TZ": "UTC"}


def stop_nodes(nodes):
    """SIGTERM to all, and a word about each that did not end well."""
    for node in nodes:
        if node.scraper:
            node.scraper.close()
        if node.process.poll() is None:
            node.process.terminate()
    end = time.monotonic() + STOP_S
    for node in nodes:
        try:
            if node.process.wait(max(0.1, end - time.monotonic())):
                driver.say(f"{node.name} ended with status {node.process.returncode}, see {node.log_path}")
        except subprocess.TimeoutExpired:
            driver.say(f"{node.name} did not end within {STOP_S} s of SIGTERM, killing it; see {node.log_path}")
            node.process.kill()
            node.process.wait()


class Site:
    """What all measurements share: the two servers, the programs, a folder. Used as a context, it stops the servers."""

    def __init__(self, binary, executor, server, zookeeper, folder, addresses):
        self.binary = binary
        self.executor = executor
        self.server = server
        self.zookeeper = zookeeper
        self.folder = pathlib.Path(folder)
        self.addresses = addresses
        self.count = 0

    def __enter__(self):
        try:
            self.server.start()
            self.zookeeper.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *what):
        self.zookeeper.stop()
        self.server.stop()


class Cluster:
    """One database, `nodes` nodes that own its shards, a group and its executor; nothing is due yet.

    As a context it takes all of them down again, however far it came. The files stay for the caller to remove.
    """

    def __init__(self, site, shards, nodes):
        site.count += 1
        self.site = site
        self.shards = shards
        self.node_count = nodes
        self.database = f"scale_{site.count}"
        self.folder = site.folder / self.database
        self.url = dburl.parse(site.server.url_of(self.database))
        self.undo = contextlib.ExitStack()
        self.nodes = []
        self.owned = []  # shards of each node
        self.jobs = self.executor = self.connection = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.undo.close()
            raise
        return self

    def __exit__(self, *what):
        return self.undo.__exit__(*what)

    def _keys(self):
        return {
            "spring.datasource.url":
                f"jdbc:mysql://127.0.0.1:{self.site.server.port}/{self.database}?serverTimezone=UTC",
            "spring.datasource.username": self.url.user, "spring.datasource.password": self.url.password,
            "xxl.job.accessToken": TOKEN, "shardwheel.shards": self.shards, "shardwheel.coordination": "zookeeper",
            "shardwheel.zookeeper.servers": self.site.zookeeper.servers,
            "shardwheel.zookeeper.base-path": f"/{self.database}/xxl-job"}

    def _start(self):
        self.folder.mkdir(parents=True)
        self.site.server.create(self.database)
        self.undo.callback(self.site.server.drop, self.database)
        done = subprocess.run([self.site.binary, "install-schema", *options(self._keys())], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env=environment(), timeout=60, check=False)
        if done.returncode != 0:
            raise OSError(f"install-schema ended with status {done.returncode}: {done.stderr.strip()}")
        self.connection = dburl.connect(self.url)
        self.undo.callback(self.connection.close)
        self.jobs = scenario.Jobs(self.connection)
        self.undo.callback(stop_nodes, self.nodes)
        for number in range(self.node_count):
            self.nodes.append(Node(self.site.binary, f"node-{number + 1}", self._keys(), self.folder))
        self._wait_settled()
        self.executor = driver.LoadExecutor(self.site.executor, self._executor_options(), self.jobs.app_name,
                                            self.folder)
        self.undo.callback(self.executor.kill)
        self.executor.wait_ready()
        # The nodes look for groups every second; the jobs are first due much later.
        self.jobs.create_group(self.executor.addresses, TOKEN, True)

    def _executor_options(self):
        return argparse.Namespace(
            executor_port=None, addresses=self.site.addresses, admin_url=None, token=TOKEN,
            executor_admin=",".join(node.url for node in self.nodes), batch=50, callback_connections=None,
            callback_delay_ms=0, callback_form="array", generation="run", answer_delay_ms=0, fail_percent=0,
            silent_addresses=0, close_addresses=0, log_lines=1)

    def _look(self):
        """(whether all is as it should be before a measurement, shards of each node or None)"""
        if not all(node.has_started() for node in self.nodes):
            return False, None
        try:
            pages = [node.metrics() for node in self.nodes]
            good = is_settled(pages, self.shards) and all(node.is_healthy() for node in self.nodes)
        except (OSError, ValueError):
            return False, None
        return good, [owned_shards(page) for page in pages]

    def _wait_settled(self):
        """Until the shards have been in fair shares for a second: their moving must not be measured."""
        end = time.monotonic() + SETTLE_S
        since, seen = None, None
        while True:
            now = time.monotonic()
            self.check()
            good, owned = self._look()
            if not good or owned != seen:
                since = now if good else None
            seen = owned
            if since is not None and now - since >= 1:
                self.owned = owned
                return
            if now > end:
                state = f"own {owned}" if owned else "do not answer"
                raise OSError(f"after {SETTLE_S} s {self.node_count} nodes do not have the {self.shards} shards in "
                              f"fair shares (they {state}), see {self.folder}")
            time.sleep(0.1)

    def check(self):
        """OSError if something that was started has ended by itself."""
        for node in self.nodes:
            node.check()
        if self.executor and self.executor.process.poll() is not None:
            raise OSError(f"the load executor ended: {self.executor.log()}")
        for server, name in ((self.site.server, "mariadbd"), (self.site.zookeeper, "ZooKeeper")):
            if server.process.poll() is not None:
                raise OSError(f"{name} ended by itself, see {server.folder / 'server.log'}")

    def sleep_until(self, wall_s):
        while (left := wall_s - time.time()) > 0:
            self.check()
            time.sleep(min(left, 1))

    def total(self, name):
        """A counter, summed over the nodes."""
        return int(sum(node.metrics()[name] for node in self.nodes))

    def snapshot(self):
        """(what measure.difference() compares: all nodes together are the admin; CPU seconds of the others by name)"""
        usages = {"database": proc.usage(self.site.server.process.pid),
                  "zookeeper": proc.usage(self.site.zookeeper.process.pid),
                  "executor": proc.usage(self.executor.process.pid)}
        status = measure.read_status(self.connection)
        nodes = [proc.usage(node.process.pid) for node in self.nodes]
        self.check()
        total = proc.Usage(sum(usage.cpu_s for usage in nodes), sum(usage.rss_bytes for usage in nodes))
        others = {name: usage.cpu_s for name, usage in usages.items()}
        others["machine"] = proc.machine_busy_s()
        return measure.Snapshot(time.time_ns() // 1000, total, usages["database"], status), others
