# SPDX-License-Identifier: MIT
"""The examples of docs/api.md, one after the other as they stand there; and its table of the dialects."""
import os
import re
import subprocess

from harness.console_data import CALLS
from harness.console_site import Site
from harness.node import ROOT


def read_page():
    with open(os.path.join(ROOT, "docs", "api.md"), encoding="utf-8") as text:
        return text.read()


def test_every_example_of_the_page_does_what_it_says(make_world, mariadb, tmp_path):
    """The numbered tasks of the last block marked sh. curl fails on HTTP 400 and above, so does the script."""
    tasks = re.findall(r"^```sh\n(.*?)^```$", read_page(), re.M | re.S)[-1]
    blocks = re.split(r"\n(?=# \d+\. )", tasks)
    assert len(blocks) >= 20
    site = Site(make_world(mariadb, family="3.4"), language="en")
    script = "\n".join(f"echo '=== block {i}: '{shell_quote(block.splitlines()[0])}\n{block}\necho"
                       for i, block in enumerate(blocks))
    (tmp_path / "examples.sh").write_text("set -euo pipefail\n" + script, encoding="utf-8")

    done = subprocess.run(["bash", "examples.sh"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60,
                          env={**os.environ, "U": site.node.url, "GROUP": str(site.vars["g1"]),
                               "RUN": str(site.vars["l_run"])})

    assert done.returncode == 0, done.stdout[-4000:]
    assert done.stdout.count("=== block") == len(blocks)


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def test_the_page_names_every_path_of_the_dialects():
    page = read_page()
    named = set(re.findall(r"`(/[\w/]*)`", page))
    missing = {path for paths in CALLS.values() for path in paths if path} - named
    assert not missing, f"docs/api.md does not name {sorted(missing)}"
