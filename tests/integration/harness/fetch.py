# SPDX-License-Identifier: MIT
"""
python3 -m harness.fetch: puts into the cache what tests would else wait for one after the other, each kind at the same
time as the others. What cannot be had is left to the test that wants it, which then says why.
"""
import concurrent.futures
import os

from . import builds, databases, debian_root, galera, haproxy, ldap_server, previous, prometheus


def _fetch(kind):
    for what in kind:
        try:
            what()
        except Exception as error:  # whatever it is, the test will meet it too
            print(f"not fetched: {error}")


def _java(version):
    return lambda: builds.java_classpath(version)


KINDS = [
    # What the longest tests wait for comes first.
    [_java(version) for version in reversed(builds.JAVA_VERSIONS)]
    + [databases.mysql8_home, builds.curator_classpath, builds.java_client_classpath],
    [builds.go_executor],
    [builds.python_executor, builds.python_client, builds.schemathesis],
    [builds.npm_client, builds.oidc_provider],
    [galera.home, haproxy.home, ldap_server.home, prometheus.home],
    [debian_root.base] * (os.geteuid() == 0),
    [previous.previous_release],
]


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(len(KINDS)) as pool:
        list(pool.map(_fetch, KINDS))
