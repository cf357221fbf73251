# SPDX-License-Identifier: MIT
"""The Prometheus of Debian: its programs, and a server that scrapes nodes in short intervals."""
import glob
import json
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from .databases import cache_dir, cache_lock
from .node import ROOT
from .process import Process, free_ports, wait_until

RULES = os.path.join(ROOT, "packaging", "prometheus", "shardwheel.rules.yml")


def home():
    """The folder with prometheus and promtool. The package is unpacked and not installed: it would start a service."""
    folder = os.path.join(cache_dir(), "prometheus")
    if not os.path.exists(folder):
        with cache_lock("apt"):
            if not os.path.exists(folder):
                _fetch(folder)
    return os.path.join(folder, "usr", "bin")


def _fetch(folder):
    with tempfile.TemporaryDirectory(dir=cache_dir()) as work:
        for command in (["apt-get", "-q", "download", "prometheus"], ["apt-get", "-q", "update"],
                        ["apt-get", "-q", "download", "prometheus"]):
            done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            packages = glob.glob(os.path.join(work, "prometheus_*.deb"))
            if packages:
                break
        assert packages, f"apt-get could not fetch the package prometheus:\n{done.stdout}"
        unpacked = os.path.join(work, "unpacked")
        subprocess.run(["dpkg-deb", "-x", packages[0], unpacked], check=True)
        os.rename(unpacked, folder)


def promtool(*arguments, text=""):
    """Runs it; what it said, all of it."""
    done = subprocess.run([os.path.join(home(), "promtool"), *arguments], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"promtool {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


class Prometheus(Process):
    """Scrapes those nodes as the job `job`, and evaluates our rules; what these say to wait for is a second here."""

    def __init__(self, folder, nodes, job):
        self.port = free_ports()
        self.folder = os.path.join(folder, "prometheus")
        os.makedirs(self.folder)
        with open(RULES, encoding="utf-8") as text:
            hasty = re.sub(r"^( +for:) \S+$", r"\1 1s", text.read(), flags=re.M)
        self._write("shardwheel.rules.yml", hasty)
        targets = ", ".join(f"'127.0.0.1:{node.port}'" for node in nodes)
        config = self._write(
            "prometheus.yml",
            "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n"
            "rule_files: [shardwheel.rules.yml]\n"
            f"scrape_configs:\n  - job_name: {job}\n    static_configs: [{{targets: [{targets}]}}]\n",
        )
        super().__init__(
            "prometheus",
            [os.path.join(home(), "prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            os.path.join(self.folder, "prometheus.log"),
        )

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def start(self):
        super().start()
        wait_until(lambda: self.query("vector(1)"), 20, f"Prometheus to answer\n{self.tail(20)}")
        return self

    def _ask(self, call, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{call}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None

    def query(self, expr):
        """[(labels, value)] at this moment; fails when Prometheus does not understand it."""
        return [(sample["metric"], float(sample["value"][1])) for sample in self._ask("query", query=expr)["result"]]

    def alerts(self):
        """Those that fire: [labels with the annotations beside them]."""
        found = self._ask("alerts")["alerts"]
        return [{**alert["labels"], **alert["annotations"]} for alert in found if alert["state"] == "firing"]

    def rules(self):
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def wait_alert(self, name, seconds, fires=True, **labels):
        """Waits until an alert of that name and those labels fires, or no longer does; the alert."""
        def found():
            return [alert for alert in self.alerts() if {"alertname": name, **labels}.items() <= alert.items()]

        if not fires:
            wait_until(lambda: not found(), seconds, f"{name} to end")
            return None
        return wait_until(found, seconds, f"{name} to fire")[0]
