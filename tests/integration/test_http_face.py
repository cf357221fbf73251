# SPDX-License-Identifier: MIT
"""The server's part of the console and api/v1 on a node that runs: what every answer has, limits, connections."""
import gzip
import http.client
import socket

import pytest

from harness.cluster import TOKEN
from harness.v1 import Api, add_token, add_user

IDLE = 1000
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Site:
    def __init__(self, world):
        self.node = world.node()
        self.token = add_token(world.tables, add_user(world.tables, "face", role=1))
        self.headers = {"Authorization": f"Bearer {self.token}"}
        self.admin = Api(self.node, self.token)

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=20)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.text = answer.read()
        connection.close()
        return answer


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


@pytest.mark.asan
def test_browsers_are_told_and_executors_are_not(site):
    for path in ("/", "/login", "/jobinfo/pageList", "/api/v1/jobs", "/nothing", "/openapi.json"):
        answer = site.ask("GET", path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
        assert answer.headers["Cache-Control"] == "no-store", path
        assert "frame-ancestors" in answer.headers["Content-Security-Policy"], path
    answer = site.ask("POST", "/api/registry", "{}")
    assert {"Content-Type", "Content-Length", "Connection"} == set(answer.headers)


@pytest.mark.asan
def test_large_answers_are_compressed_for_who_takes_it(site):
    plain = site.ask("GET", "/openapi.json")
    small = site.ask("GET", "/openapi.json", headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert plain.headers["Content-Encoding"] is None and small.headers["Content-Encoding"] == "gzip"
    assert plain.headers["Vary"] == small.headers["Vary"] == "Accept-Encoding"
    assert gzip.decompress(small.text) == plain.text and len(small.text) < len(plain.text) / 3


def test_nothing_below_api_is_a_redirect_and_others_have_no_host(site):
    for method in ("GET", "POST", "HEAD", "DELETE"):
        for path in ("/api", "/api/", "/api//registry/", "/api/v1", "/api/v1/", "/api/v1/jobs/", "/api/nothing"):
            for context in ("", "/xxl-job-admin"):
                answer = site.ask(method, context + path)
                assert not 300 <= answer.status < 400, (method, context, path)
    for path in ("/toLogin", "/jobinfo", "/joblog?jobId=3", "//evil.example/", "/xxl-job-admin//evil.example/jobinfo"):
        answer = site.ask("GET", path)
        place = answer.headers["Location"]
        assert place is None or (place.startswith("/") and not place.startswith("//")), (path, place)


PLACES = ("/", "/a", "/jobs/7", "/jobinfo/add", "/favicon.ico", "/api", "/api/callback", "/api/nothing", "/api/v1",
          "/api/v1/jobs", "/metrics", "/actuator/health", "/actuator", "/openapi.json", "/assets/a", "/docs/a")


@pytest.mark.asan
def test_every_method_is_answered_everywhere(site):
    for method in ("FOO", "PROPFIND", "get", "M-SEARCH", "TRACE", "CONNECT", "QUERY"):
        unknown = method not in ("TRACE", "CONNECT", "QUERY")
        for path in PLACES:
            for headers in ({}, site.headers, {"Cookie": "shardwheel_session=x", "Accept": "text/html"}):
                answer = site.ask(method, path, headers=headers)
                wanted = [501] if unknown else [200] if path.startswith("/api") and "/v1" not in path else [404, 405]
                assert answer.status in wanted, (method, path, answer.status)
                assert answer.status != 405 or answer.headers["Allow"].startswith("GET, HEAD"), (method, path)


def announce(site, path, length, headers=""):
    """The answer to a body that is only announced: it comes before any of it."""
    with socket.create_connection(("127.0.0.1", site.node.port), timeout=20) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
                           f"Authorization: Bearer {site.token}\r\nXXL-JOB-ACCESS-TOKEN: {TOKEN}\r\n"
                           f"{headers}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(10000)
        return int(answer.split()[1]), answer.decode()


@pytest.mark.asan
def test_bodies_have_limits_by_path(site):
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    mebi = 1 << 20
    assert announce(site, "/jobinfo/pageList", mebi + 1, form)[0] == 413
    assert announce(site, "/jobcode/save", 4 * mebi + 1, form)[0] == 413
    status, text = announce(site, "/api/v1/tokens", mebi + 1, "Content-Type: application/json\r\n")
    assert status == 413 and "application/problem+json" in text
    assert "larger than 1048576 bytes" in announce(site, "/api/registry", mebi + 1)[1]
    assert "larger than 67108864 bytes" in announce(site, "/api/callback", 64 * mebi + 1)[1]


def test_a_metadata_address_cannot_be_saved(site):
    refused = site.ask("POST", "/jobgroup/save", "appname=metadata&title=m&addressType=1&addressList="
                       "http%3A%2F%2F169.254.169.254%2F", {**FORM, **site.headers})
    assert refused.status == 200 and b'"code":200' not in refused.text
    assert not [g for g in site.admin.good("GET", "/groups?limit=500")["items"] if g["appname"] == "metadata"]


def rss_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def test_idle_connections_cost_little_and_keep_nobody_out(site):
    before = rss_kb(site.node.pid)
    idle = []
    for _ in range(IDLE):
        connection = socket.create_connection(("127.0.0.1", site.node.port), timeout=20)
        connection.sendall(b"GET /actuator/health/liveness HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
        idle.append(connection)
    for connection in idle:
        assert b"Keep-Alive: timeout=60" in connection.recv(1000)
    grown = rss_kb(site.node.pid) - before
    assert grown < 4 * IDLE, f"{grown} KiB for {IDLE} connections"
    for _ in range(20):
        assert site.ask("GET", "/openapi.json").status == 200
    idle[0].sendall(b"GET /actuator/health/liveness HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b" 200 OK" in idle[0].recv(1000)
    for connection in idle:
        connection.close()
