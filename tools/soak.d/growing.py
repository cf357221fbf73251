# SPDX-License-Identifier: MIT
"""What processes have of memory and descriptors over time, and whether it grows: slopes by least squares."""
import collections
import csv
import os
import threading
import time

SAMPLE_S = 10
WARM_S = 900       # until every cache of a node has its size
JUDGED_S = 900     # shorter lives behind that say nothing
GROWS = 0.05       # more than so much of its mean, over the time that was looked at, is growth
SLACK = {"rss_kb": 2048, "fds": 8}  # smaller differences are not growth, however small the process


def read_process(pid):
    """(resident memory in KiB, open descriptors, threads), or None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"])
    except (OSError, KeyError, ValueError):
        return None


def slope(points):
    """Of the straight line through [(x, y)] with the least squares; 0 where there is none."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


class Life:
    """One process from its start to its end: [(second, rss_kb, fds)]."""

    def __init__(self, name, samples, warm_s=WARM_S):
        self.name = name
        self.samples = [s for s in samples if s[0] >= samples[0][0] + warm_s] or samples[-1:]

    @property
    def seconds(self):
        return self.samples[-1][0] - self.samples[0][0]

    def mean(self, column):
        return sum(s[column] for s in self.samples) / len(self.samples)

    def per_hour(self, column):
        return slope([(s[0], s[column]) for s in self.samples]) * 3600

    def grown(self):
        """What of it has grown, in words. The line through all samples is judged: no single one decides."""
        found = []
        for column, name in ((1, "rss_kb"), (2, "fds")):
            change = self.per_hour(column) * self.seconds / 3600
            if self.seconds >= JUDGED_S and change > max(GROWS * self.mean(column), SLACK[name]):
                found.append(f"{name} of {self.name} grows by {change:,.0f} in {self.seconds} s")
        return found

    def line(self):
        return (f"| {self.name} | {self.seconds} | {self.mean(1):,.0f} | {self.per_hour(1):+,.0f} | "
                f"{self.mean(2):,.0f} | {self.per_hour(2):+,.1f} |")


class Sampler(threading.Thread):
    """Writes what each process has, every ten seconds."""

    def __init__(self, stage, path):
        super().__init__(daemon=True)
        self.stage = stage
        self.path = path
        self.ended = threading.Event()
        self.began_mono = time.monotonic()
        self.samples = collections.defaultdict(list)  # (name, pid) -> [(second, rss_kb, fds)]

    def run(self):
        with open(self.path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["second", "process", "pid", "rss_kb", "fds", "threads"])
            while not self.ended.wait(SAMPLE_S):
                at = round(time.monotonic() - self.began_mono)
                for process in self.stage.processes():
                    seen = read_process(process.popen.pid) if process.popen else None
                    if seen:
                        out.writerow([at, process.name, process.popen.pid, *seen])
                        self.samples[process.name, process.popen.pid].append((at, *seen[:2]))
                file.flush()

    def lives(self, warm_s):
        """The longest of each process, in the order of their names."""
        longest = {}
        for (name, _), samples in list(self.samples.items()):
            life = Life(name, samples, warm_s)
            if name not in longest or life.seconds > longest[name].seconds:
                longest[name] = life
        return [longest[name] for name in sorted(longest)]
