# SPDX-License-Identifier: MIT
"""How many instructions an operation of micro_bench takes, and whether that is still what it was."""

import concurrent.futures
import json
import os
import platform
import re
import subprocess

# Operations of the shorter of the two runs whose difference counts: start and end cancel each other out. Only cases
# that take the same way each time, without sockets and threads.
COUNTS = {"wheel": 20000, "cron": 3000, "plan": 3000, "answer": 2000, "callbacks": 30, "request": 1500, "rows": 2000}
TOLERANCE = 0.10
TIMEOUT_S = 120
REFS = re.compile(r"I\s+refs:\s+([\d,]+)")


def count_once(binary, case, count):
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", binary, "--once",
               str(count), case]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    found = REFS.search(done.stderr)
    if done.returncode != 0 or not found:
        raise OSError(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr.strip()[-500:]}")
    return int(found[1].replace(",", ""))


def count_all(binary):
    """{case: instructions per operation}"""
    wanted = [(case, count * factor) for case, count in COUNTS.items() for factor in (1, 2)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        totals = dict(zip(wanted, pool.map(lambda one: count_once(binary, *one), wanted)))
    return {case: round((totals[case, 2 * count] - totals[case, count]) / count, 1) for case, count in COUNTS.items()}


def compare(baseline, now):
    """(lines of a table, whether all is within the tolerance)"""
    lines = [f"{'case':<12}{'baseline':>12}{'now':>12}{'change':>10}"]
    good = True
    for case in sorted({*baseline, *now}):
        old, new = baseline.get(case), now.get(case)
        if old is None or new is None:
            verdict, change = "NOT IN THE BASELINE" if old is None else "NOT MEASURED", "-"
        else:
            ratio = new / old - 1
            change = f"{ratio:+.1%}"
            verdict = "" if abs(ratio) <= TOLERANCE else "DEARER" if ratio > 0 else "CHEAPER"
        good = good and not verdict
        lines.append(f"{case:<12}{old if old is not None else '-':>12}{new if new is not None else '-':>12}{change:>10}"
                     + (f"  {verdict}" if verdict else ""))
    return lines, good


def write_baseline(path, now):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine": platform.machine(), "instructions_per_operation": now}, file, indent=1)
        file.write("\n")


def read_baseline(path):
    """(machine, {case: instructions per operation})"""
    with open(path, encoding="utf-8") as file:
        baseline = json.load(file)
    return baseline["machine"], baseline["instructions_per_operation"]
