# SPDX-License-Identifier: MIT
"""Clients that others have published, against a node: every call that they have."""
import json
import os
import subprocess
import sys

import pytest

from harness.builds import java_client_classpath, npm_client, python_client
from harness.cluster import TOKEN
from harness.console_site import Site


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb, family="2.5"), language="en")


def run(command, environment=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env={**os.environ, **(environment or {})})
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_xxl_job_auto_of_maven_registers_an_executor_and_a_job(site):
    out = run(["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", java_client_classpath(),
               "org.shardwheel.client.Main", site.node.url + "/xxl-job-admin", "admin", "123456", "made-by-auto"])

    assert out.splitlines() == [
        "there before: false", "registered: true", "there behind: true", "group: made-by-auto Auto 1",
        "added: true", "updated: true", "found: 1 autoHandler changed true"]


def test_xxl_admin_sh_and_pyxxl_of_pypi(site, tmp_path):
    program, packages = python_client()

    out = run([sys.executable, program, site.node.url, TOKEN, str(site.vars["g1"]), str(tmp_path)],
              {"PYTHONPATH": packages})

    assert json.loads(out) == {
        "login": True, "list_group": ["grp-one", "grp-two"], "add_job": True,
        "search_job": ["by a client", "client", "0 0 0 1 1 ? 2099", 0], "update_job": True, "start_job": True,
        "list_job": [["changed", 1]], "stop_job": True, "trigger_job": True,
        "job_logs": [[True, 200, "from afar"]], "trigger_job of nothing": False,
        "a second client has the cookie": 2, "registry": True}
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE handle_msg = 'done by pyxxl'") == 1


def test_mcp_xxl_job_of_npm(site):
    out = run(["node", npm_client(), site.node.url + "/xxl-job-admin", str(site.vars["g1"]), str(site.vars["l_run"])])

    assert json.loads(out) == {
        "groups": ["grp-one", "grp-two"], "found": "by npm", "listed": [["changed", 1]],
        "logs": [[200, "from npm"]], "next": ["2098-01-01 00:00:00", "2099-01-01 00:00:00"], "piece": 2,
        "refused": "Job ID is illegal", "again": 1,
        "stranger": "Username or password error"}
