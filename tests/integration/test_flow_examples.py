# SPDX-License-Identifier: MIT
"""The documents of docs/flows.md, applied as they stand there, and their runs, as the text around them tells."""
import datetime
import json
import os
import re
import textwrap

import pytest

from harness.flows import Flows
from harness.node import ROOT
from harness.process import wait_until

DUE_S = int(datetime.datetime(2026, 11, 23, 18, tzinfo=datetime.timezone.utc).timestamp())  # 02:00 in Shanghai


def read_page():
    with open(os.path.join(ROOT, "docs", "flows.md"), encoding="utf-8") as text:
        return text.read()


def read_documents():
    """The blocks that are whole documents, by the name of the flow."""
    blocks = re.findall(r"^ *```json\n( *\{\n.*?)^ *```$", read_page(), re.M | re.S)
    return {document["name"]: document for document in map(json.loads, map(textwrap.dedent, blocks))}


class Example:
    """A document of the page with a job for each number in it, and what people and executors do with its runs."""

    def __init__(self, flows, name, folder):
        self.flows, self.world, self.name = flows, flows.world, name
        self.document = read_documents()[name]
        self.jobs = {step["name"]: step["jobId"] for step in self.document["steps"] if "jobId" in step}
        for job in set(self.jobs.values()):
            assert self.flows.add_job(f"job-{job}", id=job) == job
        self.path = folder / f"{name}.json"
        assert self.apply(self.document) == 1
        self.ends = dict.fromkeys(self.jobs.values(), 0)

    def ctl(self, *arguments):
        done = self.world.ctl("flow", *map(str, arguments))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def answer(self, *arguments):
        return json.loads(self.ctl(*arguments, "--json"))

    def apply(self, document):
        """The version that the flow has then."""
        self.path.write_text(json.dumps(document))
        return self.answer("apply", "-f", self.path)["version"]

    def start(self, *arguments):
        return self.answer("run", self.name, *arguments)["run"]

    def start_due(self, due_s):
        """As its schedule does at that second."""
        flow = next(row["id"] for row in self.answer("list") if row["name"] == self.name)
        return self.flows.start(flow, kind="C", due_s=due_s)

    def take(self, step, count):
        """The next runs of the step's job, when they have begun."""
        job = self.jobs[step]
        begin = self.ends[job]
        self.ends[job] += count
        return self.flows.executor.wait_runs(job, begin + count)[begin:begin + count]

    def end(self, step, message="", code=200):
        """The next run of the step's job ends; its parameter."""
        run, = self.take(step, 1)
        self.flows.report(self.flows.node, run.logId, message, code)
        return run.executorParams

    def count_runs(self, step):
        return len(self.flows.executor.runs(self.jobs[step]))

    def show(self, run, step):
        return next(row for row in self.answer("run-show", run)["steps"] if row["name"] == step)

    def wait_running(self, run, step):
        wait_until(lambda: self.show(run, step)["state"] == "running", 15, f"step {step} to run")

    def wait_end(self, run):
        """The state of the run, and those of its steps, by name."""
        state = self.flows.wait_end(run)
        return state, {row["name"]: row["state"] for row in self.answer("run-show", run)["steps"]}


@pytest.fixture(scope="module")
def example(make_module_world, mariadb, tmp_path_factory):
    """The example of that name, with what it did in the tests before."""
    flows, made, folder = Flows(make_module_world(mariadb)), {}, tmp_path_factory.mktemp("documents")

    def find(name):
        if name not in made:
            made[name] = Example(flows, name, folder)
        return made[name]

    return find


def said(text):
    """The page has this text as code: what the test gives or expects is what the reader sees."""
    assert f"`{text}`" in re.sub(r"\s+", " ", read_page())
    return text


def states(**of_steps):
    return {name.replace("_", "-"): state for name, state in of_steps.items()}


def test_the_page_has_the_documents_that_are_run_here():
    assert list(read_documents()) == ["hello", "daily-sales", "shop-report", "release"]


def test_the_first_flow(example):
    first = example("hello")
    run = first.start()
    assert re.fullmatch(r"it is \d\d:\d\d", first.end("first", "hi"))
    assert first.end("second") == "the first one said: hi"
    assert first.wait_end(run) == ("succeeded", states(first="succeeded", second="succeeded"))
    assert "state     succeeded" in first.ctl("run-show", run)
    assert first.apply({**first.document, "description": "says hello"}) == 2


EXTRACTED, CSV, LOADED = '{"file": "/data/cn-20261123.csv", "rows": 5120}', "/data/cn-20261123.csv", \
    "/data/cn-20261123.parquet"


def test_extract_transform_load(example):
    sales = example("daily-sales")
    assert "is started, next " in sales.ctl("start", "daily-sales")
    assert next(row["nextSeconds"] for row in sales.answer("list") if row["started"]) % 86400 == DUE_S % 86400
    sales.ctl("stop", "daily-sales")

    run = sales.start_due(DUE_S)
    assert sales.end("extract", said(EXTRACTED)) == said("cn 20261123")
    assert sales.end("transform", said(LOADED)) == said(CSV)
    assert sales.end("load") == LOADED
    assert sales.wait_end(run) == ("succeeded", states(
        extract="succeeded", transform="succeeded", load="succeeded", put_aside="skipped"))

    run = sales.start_due(DUE_S)
    sales.end("extract", '{"file": "/data/empty.csv", "rows": 0}')
    assert sales.wait_end(run) == ("succeeded", states(
        extract="succeeded", transform="skipped", load="skipped", put_aside="skipped"))


def test_extract_transform_load_with_failures(example):
    sales = example("daily-sales")
    run = sales.start_due(DUE_S)
    sales.end("extract", EXTRACTED)
    sales.end("transform", "line 17 is broken", code=500)
    assert sales.end("put-aside") == CSV
    assert sales.wait_end(run) == ("succeeded", states(
        extract="succeeded", transform="failed", load="skipped", put_aside="succeeded"))

    run = sales.start_due(DUE_S)
    sales.end("extract", "the shop database does not answer", code=500)
    assert sales.wait_end(run) == ("failed", states(
        extract="failed", transform="skipped", load="skipped", put_aside="skipped"))
    sales.ctl("rerun", run)
    assert sales.end("extract", EXTRACTED) == "cn 20261123"
    sales.end("transform", LOADED)
    sales.end("load")
    assert sales.wait_end(run)[0] == "succeeded"

    run = sales.start("--param", "region=eu")
    assert re.fullmatch(r"eu \d{8}", sales.end("extract", '{"rows": 0}'))
    assert sales.wait_end(run)[0] == "succeeded"


SHOPS, RATES = '[{"id": "north", "currency": "EUR"}, {"id": "south", "currency": "USD"}]', '{"EUR": 1.1}'


def test_one_run_for_each_shop(example):
    report = example("shop-report")
    run = report.start()
    report.flows.executor.wait_runs(report.jobs["rates"])  # they have not waited for the shops
    report.end("shops", said(SHOPS))
    counts = {said("north EUR"): "12", said("south USD"): "30"}
    for one in reversed(report.take("count", 2)):
        report.flows.report(report.flows.node, one.logId, counts.pop(one.executorParams))
    wait_until(lambda: report.show(run, "count")["state"] == "succeeded", 15, "the shops to be counted")
    assert json.loads(report.show(run, "count")["result"]) == json.loads(said("[12, 30]"))
    assert report.show(run, "summary")["state"] == "waiting" and "rates" in report.show(run, "summary")["reason"]
    report.end("rates", said(RATES))
    assert report.end("summary") == said('{"rates": {"EUR":1.1}, "sales": [12,30]}')
    assert report.wait_end(run) == ("succeeded", dict.fromkeys(("shops", "rates", "count", "summary"), "succeeded"))


def test_one_shop_that_failed_is_counted_again(example):
    report = example("shop-report")
    before = [report.count_runs(step) for step in ("shops", "rates", "count")]
    run = report.start()
    report.end("shops", SHOPS)
    report.end("rates", RATES)
    for one in report.take("count", 2):
        fails = one.executorParams == "south USD"
        report.flows.report(report.flows.node, one.logId, "no" if fails else "12", 500 if fails else 200)
    assert report.wait_end(run) == ("failed", states(
        shops="succeeded", rates="succeeded", count="failed", summary="skipped"))

    report.ctl("rerun", run)
    assert report.end("count", "30") == "south USD"
    assert json.loads(report.end("summary"))["sales"] == [12, 30]
    assert report.wait_end(run)[0] == "succeeded"
    assert [report.count_runs(step) for step in ("shops", "rates", "count")] == [
        count + more for count, more in zip(before, (1, 1, 3))]


def test_approval_before_a_release(example):
    release = example("release")
    refused = release.world.ctl("flow", "run", "release")
    assert refused.returncode == 1 and '"version" is missing' in refused.stderr

    run = release.start("--param", "version=2.4.0", "--key", "build-17")
    assert release.start("--param", "version=2.4.0", "--key", "build-17") == run
    second = release.start("--param", "version=2.4.1")
    assert release.end("test", said('{"passed": 812}')) == "2.4.0"
    release.wait_running(run, "agree")
    assert release.show(run, "agree")["message"] == said("Release 2.4.0? Tests passed: 812")
    assert "Release 2.4.0? Tests passed: 812" in release.ctl("run-show", run)
    release.ctl("step", run, "agree", "approve", "--remark", "seen by QA")
    release.wait_running(run, "pause")
    assert [row["state"] for row in release.answer("runs", "release")] == ["queued", "running"]  # newest first
    release.ctl("step", run, "pause", "done", "--remark", "urgent")
    assert release.end("install") == "2.4.0"
    assert release.wait_end(run) == ("succeeded", states(
        test="succeeded", agree="succeeded", pause="succeeded", install="succeeded", withdraw="skipped"))

    assert release.end("test", '{"passed": 3}') == "2.4.1"
    release.wait_running(second, "agree")
    release.ctl("step", second, "agree", "reject")
    assert release.end("withdraw") == "2.4.1"
    assert release.wait_end(second) == ("succeeded", states(
        test="succeeded", agree="failed", pause="skipped", install="skipped", withdraw="succeeded"))


@pytest.mark.parametrize("action", ["cancel", "skip"])
def test_a_release_is_stopped_in_the_pause(example, action):
    release = example("release")
    before = release.count_runs("install")
    run = release.start("--param", "version=2.4.0")
    release.end("test", '{"passed": 812}')
    release.wait_running(run, "agree")
    release.ctl("step", run, "agree", "approve")
    release.wait_running(run, "pause")
    release.ctl(*(("cancel", run) if action == "cancel" else ("step", run, "pause", "skip")))
    state, steps = release.wait_end(run)
    assert (state, steps["install"]) == (("cancelled", "cancelled") if action == "cancel" else ("succeeded", "skipped"))
    assert release.count_runs("install") == before
