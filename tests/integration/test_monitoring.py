# SPDX-License-Identifier: MIT
"""A real Prometheus on real nodes: its rules, its alerts, the dashboard's queries, and the documents about them."""
import json
import os
import re
import time

import pytest
import yaml

from harness.node import ROOT
from harness.process import wait_until
from harness.prometheus import RULES, Prometheus, promtool

JOB = "shardwheel-test"
TESTS = os.path.join(ROOT, "tests", "prometheus", "alerts.yml")
# Series of a histogram.
SUFFIX = re.compile(r"_(bucket|sum|count)$")
# Recorded values that need what a short test without trouble does not have.
WITHOUT_DATA = {"job:shardwheel_fires_failed:ratio_usual"}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as text:
        return text.read()


def rules(kind):
    """{name: rule} of the rules file; kind is `alert` or `record`."""
    groups = yaml.safe_load(read(RULES))["groups"]
    return {rule[kind]: rule for group in groups for rule in group["rules"] if kind in rule}


def metric_names(expr):
    """Names of ours and of the process in a query."""
    bare = re.sub(r'"[^"]*"', '""', expr)
    return {SUFFIX.sub("", name) for name in re.findall(r"(?<![\w:])(?:shardwheel|process)_\w+(?![\w:])", bare)}


def dashboard_queries():
    """{title of the panel: [queries]}"""
    panels = json.loads(read("packaging", "grafana", "shardwheel.json"))["panels"]
    return {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in panels if "targets" in panel}


def fill_in(query):
    """What Grafana puts in the place of its variables."""
    filled = query.replace("$__rate_interval", "1m").replace("$job", JOB).replace("$instance", ".*")
    assert "$" not in filled, f"an unknown variable is in {query}"
    return filled


@pytest.fixture(scope="module")
def watched(make_module_world, mariadb, zookeeper):
    """Two nodes with load, and a Prometheus that has seen them for some scrapes: (cluster, [nodes], prometheus)."""
    cluster = make_module_world(mariadb, zookeeper=zookeeper)
    cluster.tables.add_group("idle")
    nodes = [cluster.node("node-a", healthy_within=None), cluster.node("node-b", healthy_within=None)]
    for node in nodes:
        node.wait_healthy()
    executor = cluster.load_executor(nodes)
    group = cluster.tables.add_group("load", executor.addresses)
    cluster.tables.add_load(group, 20)
    prometheus = Prometheus(cluster.folder, nodes, JOB)
    cluster.others.append(prometheus)
    prometheus.start()
    cluster.tables.wait_owners([4, 4])
    wait_until(lambda: prometheus.query(f'sum(shardwheel_runs_total{{job="{JOB}"}})')[0][1] > 40, 20, "runs to end")
    return cluster, nodes, prometheus


# Without a server


def test_every_alert_is_tested_and_says_what_to_do():
    """Each fires and does not fire in the tests of the rules, and has its row in the guide's table of its severity."""
    promtool("check", "rules", RULES)
    promtool("test", "rules", TESTS)
    tested = {}
    for test in yaml.safe_load(read(TESTS))["tests"]:
        for case in test["promql_expr_test"]:
            name = re.search(r'alertname="(\w+)"', case["expr"])[1]
            tested.setdefault(name, set()).add(bool(case.get("exp_samples")))
    guide = read("docs", "monitoring.md")
    alerts = rules("alert")
    parts = re.split(r"^#+ (Alerts|Critical|Warnings)$", guide, flags=re.M)
    rows = {part: re.findall(r"^\| `(Shardwheel\w+)` \| [^|]+ \| [^|]+ \|$", text, re.M)
            for part, text in zip(parts[1::2], parts[2::2])}
    assert not rows["Alerts"] and sorted(alerts) == sorted(tested) == sorted(rows["Critical"] + rows["Warnings"])
    for name, alert in alerts.items():
        assert tested[name] == {True, False}, f"{name} is not seen both firing and quiet"
        assert alert["labels"]["severity"] == ("critical" if name in rows["Critical"] else "warning"), name
        assert "for" in alert, name
        notes = alert["annotations"]
        assert notes["summary"] and notes["description"]
        assert notes["runbook_url"] == "docs/monitoring.md#alerts", name
    for name in rules("record"):
        assert f"`{name}`" in guide, f"the recorded {name} is not in the guide"


def test_the_example_is_understood(tmp_path):
    example = read("packaging", "prometheus", "scrape.example.yml")
    password = tmp_path / "password"
    password.write_text("secret")
    mine = example.replace("/usr/share/shardwheel/prometheus/shardwheel.rules.yml", RULES)
    mine = mine.replace("/etc/prometheus/shardwheel-staging.password", str(password))
    assert RULES in mine and str(password) in mine
    (tmp_path / "prometheus.yml").write_text(mine)
    promtool("check", "config", str(tmp_path / "prometheus.yml"))


# With one


def test_page_is_as_promtool_and_the_document_want_it(watched):
    _, nodes, _ = watched
    text = nodes[0].get("/metrics").text
    assert promtool("check", "metrics", text=text) == ""
    shown = {re.sub(r'(shard|node|version)="[^"]*"', r'\1=', line).rsplit(" ", 1)[0]
             for line in text.splitlines() if not line.startswith(("#", "process_"))}  # a sentence has the latter
    shown = {re.sub(r'_(bucket\{le=.*|sum|count)$', "", name) for name in shown}
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]*`)? \| \w+ \| [^|]* \| [^|]+ \|$", read("docs", "metrics.md"), re.M)
    told = {name + (f"{{{labels}}}" if labels else "")
            for name, cell in rows for labels in re.findall("`([^`]*)`", cell) or [""]}
    assert shown == {re.sub(r'(shard|node|version)="<\w+>"', r'\1=', name) for name in told}
    figures = re.search(r"^A node has (\d+) series, (\d+) more .* and (\d+) for each", read("docs", "metrics.md"), re.M)
    fixed, each, of_owner = (int(figure) for figure in figures.groups())
    assert len(nodes[0].metrics()) == fixed + 8 * each + 4 * of_owner


def test_figures_are_those_of_the_node(watched):
    _, nodes, _ = watched

    def log_in(password):
        return nodes[0].request("POST", "/xxl-job-admin/auth/doLogin", f"userName=admin&password={password}",
                                {"Content-Type": "application/x-www-form-urlencoded"}).code

    before = nodes[0].metrics()
    assert log_in("123456") == 200 and log_in("wrong") != 200 and log_in("wrong") != 200
    seen = [node.metrics() for node in nodes]
    first = seen[0]

    def grown(name):
        return first[name] - before[name]

    assert grown('shardwheel_logins_total{result="accepted"}') == 1
    assert grown('shardwheel_logins_total{result="refused"}') == 2
    assert grown("shardwheel_http_console_requests_total") == 3
    assert grown("shardwheel_http_requests_total") >= 4
    assert first["shardwheel_db_commit_seconds_count"] > 10
    assert first["shardwheel_coordination_session_timeout_seconds"] == 4
    assert first['shardwheel_executor_groups{state="offline"}'] == 1  # the other one is typed in
    assert first['shardwheel_executor_groups{state="online"}'] == 0
    assert first["shardwheel_results_queue_max"] == 200000
    assert first["process_open_fds"] < first["process_max_fds"] and first["process_threads"] > 10
    assert abs(first["process_start_time_seconds"] - time.time()) < 120
    # Every node that asks for the guard gets it: the lock is shared.
    assert all(one["shardwheel_java_guard_wanted"] == one["shardwheel_java_guard_held"] == 1 for one in seen)
    assert time.time() - 120 < first["shardwheel_java_guard_held_since_timestamp_seconds"] <= time.time()
    for name in ("shardwheel_shard_planning_lead_seconds", "shardwheel_shard_held_seconds"):
        values = [value for one in seen for series, value in one.items() if series.startswith(name + "{")]
        assert len(values) == 8 and all(0 < value < 120 for value in values), f"{name}: {values}"


def test_rules_and_dashboard_ask_for_what_there_is(watched):
    """Every name exists on a running node, every query is understood and those of the dashboard find something."""
    _, nodes, prometheus = watched
    names = {re.sub(r"\{.*", "", SUFFIX.sub("", re.sub(r"\{.*", "", name))) for name in nodes[0].metrics()}
    records = rules("record")
    for rule in [*rules("alert").values(), *records.values()]:
        assert metric_names(rule["expr"]) <= names, rule
    wait_until(lambda: not [r for r in prometheus.rules() if r["health"] != "ok"], 10, "all rules to be evaluated")

    def missing():
        return [name for name in set(records) - WITHOUT_DATA if not prometheus.query(f'{name}{{job="{JOB}"}}')]

    wait_until(lambda: not missing(), 20, "the recorded values to be there")
    empty = []
    for title, queries in dashboard_queries().items():
        for query in queries:
            assert metric_names(query) <= names, f"{title}: {query}"
            recorded = set(re.findall(r"\w+:\w+:\w+", query))
            assert recorded <= set(records), f"{title}: {query}"
            if not prometheus.query(fill_in(query)) and not recorded & WITHOUT_DATA and "> 0" not in query:
                empty.append(f"{title}: {query}")
    assert not empty, "\n".join(empty)
    owners = prometheus.query(fill_in(dashboard_queries()["Owner of each shard"][0]))
    assert sorted(labels["shard"] for labels, _ in owners) == [str(k) for k in range(8)]
    assert {labels["node"] for labels, _ in owners} == {"node-a", "node-b"}


def test_panels_do_not_lie_on_each_other():
    board = json.loads(read("packaging", "grafana", "shardwheel.json"))
    taken = {}
    for panel in board["panels"]:
        at = panel["gridPos"]
        for place in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            assert place[0] < 24 and place not in taken, f"{panel['title']} and {taken.get(place)}"
            taken[place] = panel["title"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert [v["name"] for v in board["templating"]["list"]] == ["datasource", "job", "instance"]


def test_a_node_that_dies_is_told_and_what_comes_back_is_quiet(watched):
    cluster, nodes, prometheus = watched
    dead, alive = f"127.0.0.1:{nodes[1].port}", f"127.0.0.1:{nodes[0].port}"
    # The token of this world is the default one, the password of admin too; else all is well.
    wait_until(lambda: {alert["alertname"] for alert in prometheus.alerts()} == {"ShardwheelWeakSecrets"}, 20,
               f"the one alert to fire, not {prometheus.alerts()}")

    nodes[1].kill()
    down = prometheus.wait_alert("ShardwheelNodeDown", 10, instance=dead)
    assert down["severity"] == "critical" and dead in down["summary"] and "job" in down
    gone = prometheus.wait_alert("ShardwheelShardWithoutOwner", 10)
    assert re.fullmatch(f"No node owns shard [0-7] of {JOB}", gone["summary"])
    prometheus.wait_alert("ShardwheelShardWithoutOwner", 20, fires=False)
    taken = prometheus.query(f'sum(shardwheel_shard_owned{{instance="{alive}"}})')
    assert taken[0][1] == 8

    nodes[1].start()
    prometheus.wait_alert("ShardwheelNodeDown", 10, fires=False)
    cluster.tables.wait_owners([4, 4])
    up = prometheus.query(f'process_start_time_seconds{{instance="{dead}"}} > time() - 60')
    assert len(up) == 1
