# SPDX-License-Identifier: MIT
"""
How long tests take, for who runs what: seconds and name, a line each, the longest first; in durations.txt beside the
tests. What takes less than three seconds is not worth a line. To write the table from the reports of whole runs:

    cd tests/integration && /usr/bin/python3 -m harness.durations ../../build/results/{integration,faults}.xml
"""
import os
import sys
import xml.etree.ElementTree as tree

_PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "durations.txt")
_LEAST = 3


def read():
    """{module::test: seconds}."""
    with open(_PATH, encoding="utf-8") as lines:
        return {name: int(seconds) for seconds, name in (line.rstrip("\n").split(" ", 1) for line in lines)}


def key(module, test):
    """The name in the table. Groups of pytest-xdist, which stand behind an @, are not part of it."""
    return f"{module.rpartition('.')[2]}::{test.split('@')[0]}"


def write(reports):
    """Takes over what the reports have, and keeps what they do not."""
    seconds = read()
    for report in reports:
        for case in tree.parse(report).getroot().iter("testcase"):
            seconds[key(case.get("classname"), case.get("name"))] = round(float(case.get("time")))
    with open(_PATH, "w", encoding="utf-8") as out:
        for name, taken in sorted(seconds.items(), key=lambda item: (-item[1], item[0])):
            if taken >= _LEAST:
                out.write(f"{taken} {name}\n")


if __name__ == "__main__":
    write(sys.argv[1:])
