# SPDX-License-Identifier: MIT
"""
Every operation of the OpenAPI document, by schemathesis, as everybody who may call: no 5xx, and each answer has a
status, a content type and members that the document names.
"""
import os
import subprocess
import sys

import pytest

from harness.builds import schemathesis
from harness.v1 import Api
from test_v1 import Site

# What no schema can say (a cron expression that is none, an id of nothing) is refused as well, so data that the schema
# allows may be. And If-Match is looked at before data that it forbids.
CONFIG = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "3xx", 400, 401, 403, 404, 409, 412, 413, 415, 429, 502, 503]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 412, 413, 415, 429]
"""
# Who removes the token that he goes by is nobody from then on.
LEAVING = "removeToken"


def run_schemathesis(site, who, folder, *options):
    """`who` None: without a token."""
    program, packages = schemathesis()
    (folder / "schemathesis.toml").write_text(CONFIG)
    header = ["-H", f"Authorization: Bearer {site.tokens[who]}"] if who else []
    done = subprocess.run(
        [sys.executable, program, "run", f"{site.node.url}/openapi.json", *header, "--seed", "1", "-n", "2",
         "--no-shrink", "--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off", *options],
        cwd=folder, env={**os.environ, "PYTHONPATH": packages}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=900,
    )
    assert done.returncode == 0, done.stdout


def make_site(make_world, mariadb):
    site = Site(make_world(mariadb))
    site.world.tables.add_job(site.group, next_in=3600)
    return site


@pytest.mark.slow
@pytest.mark.asan
def test_answers_to_an_admin_are_as_the_document_says(make_world, mariadb, tmp_path):
    site = make_site(make_world, mariadb)

    run_schemathesis(site, "admin", tmp_path, "--phases", "examples,coverage,fuzzing", "--exclude-operation-id",
                     LEAVING)
    site.admin.good("GET", "/instance")
    run_schemathesis(site, "admin", tmp_path, "--phases", "coverage", "--include-operation-id", LEAVING)


def checksums(site):
    """Of what somebody without rights must not change."""
    return site.world.tables.rows("CHECKSUM TABLE xxl_job_info, xxl_job_group, xxl_job_user, shardwheel_role, "
                                  "shardwheel_job, shardwheel_later, shardwheel_channel, shardwheel_flow, "
                                  "shardwheel_flow_version, shardwheel_flow_run, shardwheel_flow_request")


@pytest.mark.slow
@pytest.mark.asan
@pytest.mark.parametrize("who", ["user", "reader", "nobody"])
def test_answers_to_other_users_are_as_the_document_says(make_world, mariadb, tmp_path, who):
    site = make_site(make_world, mariadb)
    before = checksums(site)

    run_schemathesis(site, who, tmp_path, "--phases", "examples,fuzzing", "-m", "positive", "--exclude-operation-id",
                     LEAVING)
    Api(site.node, site.tokens[who]).good("GET", "/instance")
    assert who == "user" or checksums(site) == before


@pytest.mark.slow
@pytest.mark.asan
def test_answers_to_strangers_are_as_the_document_says(make_world, mariadb, tmp_path):
    """Who has no token gets as far as the login, and changes nothing."""
    site = make_site(make_world, mariadb)
    before = checksums(site)

    run_schemathesis(site, None, tmp_path, "--phases", "examples,coverage")
    assert checksums(site) == before
