# SPDX-License-Identifier: MIT
"""`bench scale`: what several shards on several nodes sustain, and how fast they plan."""

import json
import os
import pathlib
import shutil
import tempfile
import threading
import time

from benchlib import auditing, cluster, driver, matching, measure, scaletable, scenario, server, zookeeper

LEAD_S = 7       # between the start of the jobs and their first due time: they are planned 5 s ahead
SETTLE_S = 3     # jobs go on that long after the seconds that count
DRAIN_S = 60
PLANNED_S = 5    # how long before its due time a fire may be planned
SAMPLE_S = 0.02
BURST_WAIT_S = 20  # a burst must be planned this long after its due time at the latest
BURST_STOP_S = 45  # its jobs are stopped by then: after a minute they are due again
P99_MOST_MS = 1000
GROWTH, GROWTH_MS = 1.5, 50
RESULTS_LEAST = 0.9  # of the fires due in the window; the ends of the window cut some off
TAKEOVERS = "shardwheel_takeovers_total"
RESULTS = 'shardwheel_callbacks_total{result="stored"}'


# ---- what a run says, from its figures alone ----

def halves(lateness_of, from_s, to_s):
    """The medians of lateness in the two halves of a window; None where nothing arrived."""
    middle = (from_s + to_s) / 2

    def median(wanted):
        return matching.percentile(
            sorted(ms for due_s, late in lateness_of.items() if wanted(due_s) for ms in late), 50)

    return median(lambda due_s: due_s < middle), median(lambda due_s: due_s >= middle)


def find_faults(result):
    """Why the rate of a steady run was not sustained, in words; empty if it was."""
    if not result["due"]:
        return ["nothing was due"]
    faults = [f"{result[name]:,} {words}" for name, words in (
        ("lost", "lost"), ("doubled", "doubled"), ("fired_without_due", "fired without being due"),
        ("unknown", "of unknown delivery"), ("failed", "failed")) if result[name]]
    if result["delivered"] < result["due"]:
        faults.append(f"{result['delivered']:,} of {result['due']:,} delivered")
    if result["open_rows"]:
        faults.append(f"{result['open_rows']:,} without result")
    if result["results_in_window"] < RESULTS_LEAST * result["due"]:
        faults.append(f"results fall behind: {result['results_in_window']:,} in the time of {result['due']:,} fires")
    p99 = result["late_ms"].get("p99")
    if p99 is not None and p99 >= P99_MOST_MS:
        faults.append(f"p99 {p99:,.0f} ms")
    first, second = result["late_p50_halves_ms"]
    if first is not None and second is not None and second > GROWTH * first + GROWTH_MS:
        faults.append(f"grows later: p50 {first:,.0f} ms, then {second:,.0f} ms")
    return faults


def search(rates, start, is_sustained):
    """The highest of the rates (ascending) that is sustained: up from `start`, or down from it if it is not."""
    index = rates.index(start)
    if not is_sustained(start):
        return next((rate for rate in reversed(rates[:index]) if is_sustained(rate)), None)
    best = start
    for rate in rates[index + 1:]:
        if not is_sustained(rate):
            break
        best = rate
    return best


def merge(series):
    """Samples (moment, count) of several counters as samples of their sum, from the first moment that all are known."""
    latest = [None] * len(series)
    merged = []
    for moment, index, count in sorted((moment, index, count) for index, samples in enumerate(series)
                                       for moment, count in samples):
        latest[index] = count
        if None not in latest:
            merged.append((moment, sum(latest)))
    return merged


def reach(samples, count):
    """The moment at which a growing count reaches a value, between two samples in proportion. None if it never does."""
    before = None
    for moment, value in samples:
        if value >= count:
            if before is None or value == before[1]:
                return moment
            return before[0] + (moment - before[0]) * (count - before[1]) / (value - before[1])
        before = moment, value
    return None


def planning(samples, fires):
    """Figures of a burst from samples (seconds, planned since the start of the nodes)."""
    base = samples[0][1] if samples else 0
    from_s, to_s = (reach(samples, base + share * fires) for share in (0.05, 0.95))
    figures = {"planned": (samples[-1][1] - base) if samples else 0, "samples": len(samples), "planned_per_s": None,
               "planned_in_ms": None, "sample_gap_ms": None}
    if to_s is None or to_s <= from_s:
        return figures
    moments = [moment for moment, _ in samples]
    gaps = [(later - earlier) for earlier, later in zip(moments, moments[1:]) if later > from_s and earlier < to_s]
    return {**figures, "planned_per_s": round(0.9 * fires / (to_s - from_s)),
            "planned_in_ms": round((to_s - from_s) * 1000, 1), "sample_gap_ms": round(max(gaps) * 1000, 1)}


# ---- one measurement ----

class Sampler:
    """Follows how many fires each node has planned, one thread a node, in the background."""

    def __init__(self, nodes):
        self.series = [[] for _ in nodes]
        self.failures = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._follow, args=(node.port, samples), daemon=True)
                         for node, samples in zip(nodes, self.series)]
        for thread in self._threads:
            thread.start()

    def _follow(self, port, samples):
        scraper = cluster.Scraper(port)
        while not self._stop.wait(SAMPLE_S):
            try:
                page = cluster.parse_metrics(scraper.get("/metrics")[1])
                samples.append((time.time(), int(page["shardwheel_fires_planned_total"])))
            except (OSError, KeyError, ValueError):
                self.failures += 1
        scraper.close()

    def planned(self):
        """So far, of all nodes."""
        return sum(samples[-1][1] - samples[0][1] for samples in self.series if samples)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()


def lead_s(jobs):
    return LEAD_S + 1 + jobs // 10000


def must_be_before(wall_s, what):
    if time.time() > wall_s:
        raise OSError(f"{what} took too long, the database is too slow for so many jobs")


def finish(the_cluster, from_s, to_s):
    """Lets everything end: (verdict, figures that both kinds of runs have, text of the audit if something is wrong)."""
    started = time.monotonic()
    driver.wait_drained(the_cluster.jobs, DRAIN_S)
    drain_s = time.monotonic() - started
    the_cluster.check()
    counters = the_cluster.executor.stop()
    verdict = auditing.audit(the_cluster.url, from_s, to_s, [the_cluster.executor.arrivals],
                             app_name=the_cluster.jobs.app_name)
    offences = auditing.worst(verdict.offences, 10)
    remarks = (auditing.summary(verdict, offences, auditing.explain(the_cluster.url, offences)) if offences else "")
    return verdict, {
        "jobs": the_cluster.jobs.count, "from_s": from_s, "to_s": to_s, "due": verdict.due,
        "delivered": verdict.delivered, "lost": verdict.lost, "doubled": verdict.doubled, "unknown": verdict.unknown,
        "failed": verdict.failed, "early": verdict.early, "fired_without_due": verdict.fired_without_due,
        "planned_twice": verdict.planned_twice, "open_rows": verdict.open_rows,
        "results_committed": verdict.results_ok, "late_ms": auditing.lateness(verdict.lateness_ms),
        "drain_s": round(drain_s, 1), "owned": the_cluster.owned, "addresses": the_cluster.site.addresses,
        "cores": os.cpu_count(), "executor": counters}, remarks


def run_steady(the_cluster, rate, warmup_s, seconds):
    jobs = the_cluster.jobs
    jobs.create_jobs(scenario.STEADY_PATTERN, rate * 10, "ROUND")
    start_s = int(time.time()) + lead_s(jobs.count)
    from_s = start_s + warmup_s
    to_s = from_s + seconds
    takeovers = the_cluster.total(TAKEOVERS)
    jobs.start(scenario.steady_first(start_s))
    must_be_before(start_s - PLANNED_S, "starting the jobs")
    # Half a second early at both ends, where nothing is due: else a second would be cut in two.
    the_cluster.sleep_until(from_s - 0.5)
    before, others_before = the_cluster.snapshot()
    results = the_cluster.total(RESULTS)
    the_cluster.sleep_until(to_s - 0.5)
    after, others_after = the_cluster.snapshot()
    results = the_cluster.total(RESULTS) - results
    the_cluster.sleep_until(to_s + SETTLE_S)
    jobs.stop_at_once()
    takeovers = the_cluster.total(TAKEOVERS) - takeovers
    verdict, figures, remarks = finish(the_cluster, from_s, to_s)
    fires = auditing.count_between(the_cluster.executor.arrivals, before.wall_us, after.wall_us)
    core_s = os.cpu_count() * (after.wall_us - before.wall_us) / 1e6
    result = {
        **figures, "rate": rate, "fires_per_s": round(verdict.delivered / seconds, 1), "takeovers": takeovers,
        "results_in_window": results,
        "late_p50_halves_ms": [None if ms is None else round(ms, 1)
                               for ms in halves(verdict.lateness_of, from_s, to_s)],
        "cpu_s": {"nodes": round(after.admin.cpu_s - before.admin.cpu_s, 2),
                  **{name: round(value - others_before[name], 2) for name, value in others_after.items()}},
        "cores_busy_percent": round(100 * (others_after["machine"] - others_before["machine"]) / core_s),
        **measure.difference(before, after, fires)}
    result["faults"] = find_faults(result)
    return result, remarks


def run_planning(the_cluster, fires):
    jobs = the_cluster.jobs
    due_s = int(time.time()) + lead_s(fires) + fires // 5000
    expression = scenario.burst_expression(due_s)
    jobs.create_jobs([expression], fires, "ROUND")
    sampler = Sampler(the_cluster.nodes)
    try:
        jobs.start({expression: due_s})
        must_be_before(due_s - PLANNED_S - 0.5, "making and starting the jobs")
        while sampler.planned() < fires and time.time() < due_s + BURST_WAIT_S:
            the_cluster.check()
            time.sleep(0.1)
    finally:
        sampler.stop()
    the_cluster.sleep_until(due_s + 1)
    driver.wait_drained(jobs, max(1, due_s + BURST_STOP_S - time.time()))
    jobs.stop_at_once()
    _, figures, remarks = finish(the_cluster, due_s, due_s + 1)
    samples = [(moment - due_s, count) for moment, count in merge(sampler.series)]
    steps = [sample for index, sample in enumerate(samples) if index == 0 or sample[1] != samples[index - 1][1]]
    return {**figures, "rate": None, **planning(samples, fires), "sample_failures": sampler.failures,
            # Seconds before (-) the due second, and the count from then on.
            "planned_steps": [[round(moment, 3), count] for moment, count in steps]}, remarks


# ---- the matrix ----

class Matrix:
    """Walks through all combinations; `results` grows with each run, whatever happens later."""

    def __init__(self, arguments, site):
        self.arguments = arguments
        self.site = site
        self.results = []
        self.best = {}  # (shards, nodes): highest rate sustained

    def _run(self, kind, shards, nodes, number, measure_one, what):
        driver.say(f"shards {shards}, nodes {nodes}: {what}"
                   + (f", run {number} of {self.arguments.runs}" if self.arguments.runs > 1 else ""))
        with cluster.Cluster(self.site, shards, nodes) as the_cluster:
            figures, remarks = measure_one(the_cluster)
        result = {"scenario": kind, "label": self.arguments.label, "shards": shards, "nodes": nodes, "run": number,
                  **figures}
        self.results.append(result)
        if self.arguments.json:
            with open(self.arguments.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        if remarks:
            driver.say(remarks)
        if not (result["lost"] or result["doubled"]) and not self.arguments.keep:
            shutil.rmtree(the_cluster.folder)
        else:
            driver.say(f"files of this run are in {the_cluster.folder}")
        return result

    def is_sustained(self, shards, nodes, rate):
        a = self.arguments
        runs = []
        for number in range(1, a.runs + 1):
            result = self._run("scale-steady", shards, nodes, number,
                               lambda c: run_steady(c, rate, a.warmup, a.seconds), f"{rate:,} fires/s")
            late = result["late_ms"]
            driver.say(f"  {'; '.join(result['faults']) or 'sustained'}; p50 {late.get('p50', '-')} ms, "
                       f"p99 {late.get('p99', '-')} ms")
            runs.append(result)
        return scaletable.is_sustained(runs)

    def measure_planning(self, shards, nodes):
        for number in range(1, self.arguments.runs + 1):
            result = self._run("scale-planning", shards, nodes, number,
                               lambda c: run_planning(c, self.arguments.burst),
                               f"{self.arguments.burst:,} jobs in one second")
            driver.say(f"  planned {result['planned']:,}, {result['planned_per_s'] or '-'} per second")

    def start_rate(self, shards, nodes):
        """What the neighbour sustained that was measured last: with fewer nodes, or with fewer shards."""
        a = self.arguments
        for others in ([(shards, n) for n in reversed(a.nodes[:a.nodes.index(nodes)])],
                       [(k, nodes) for k in reversed(a.shards[:a.shards.index(shards)])]):
            for other in others:
                if self.best.get(other):
                    return self.best[other]
        return a.rates[0]

    def walk(self):
        for shards in self.arguments.shards:
            for nodes in self.arguments.nodes:
                if self.arguments.rates:
                    self.best[shards, nodes] = search(self.arguments.rates, self.start_rate(shards, nodes),
                                                      lambda rate: self.is_sustained(shards, nodes, rate))
                if self.arguments.burst:
                    self.measure_planning(shards, nodes)


def check_arguments(arguments):
    binary = pathlib.Path(arguments.binary)
    if not os.access(binary, os.X_OK) or not binary.is_file():
        raise ValueError(f"--binary: '{binary}' is no program")
    for name in ("shards", "nodes", "rates"):
        setattr(arguments, name, sorted(set(getattr(arguments, name))))
    if not arguments.rates and not arguments.burst:
        raise ValueError("--no-steady and --burst 0 leave nothing to measure")
    if arguments.json:
        with open(arguments.json, "a", encoding="utf-8"):
            pass  # that it cannot be written should not be found out after the first run
    return str(binary.resolve())


def run(arguments):
    """The exit status. The tables are printed even if the matrix was broken off."""
    if arguments.show:
        results = [result for path in arguments.show for result in scaletable.read_results(path)]
        print(scaletable.render(results))
        return scaletable.exit_status(results)
    binary = check_arguments(arguments)
    folder = arguments.work or tempfile.mkdtemp(prefix="bench-")
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    executor = driver.find_executor(arguments.executor, folder)
    site = cluster.Site(binary, executor, server.PrivateServer(pathlib.Path(folder) / "mariadb"),
                        zookeeper.ZooKeeper(pathlib.Path(folder) / "zookeeper"), folder, arguments.addresses)
    matrix = Matrix(arguments, site)
    is_of_use = True  # a failure is explained by logs; an interrupt is not
    try:
        with site:
            matrix.walk()
        is_of_use = False
    except KeyboardInterrupt:
        is_of_use = False
        raise
    finally:
        if matrix.results:
            print(scaletable.render(matrix.results), flush=True)
        if is_of_use or scaletable.exit_status(matrix.results) or arguments.work or arguments.keep:
            driver.say(f"files are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return scaletable.exit_status(matrix.results)
