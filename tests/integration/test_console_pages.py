# SPDX-License-Identifier: MIT
"""The console's page and files as a browser meets them: by redirects and by links relative to the page, below every
context and behind a proxy that strips a prefix. The files are the smallest that are a console: no Node.js is needed."""
import gzip
import http.client
import http.server
import re
import threading
import urllib.parse

import pytest

SCRIPT = "console.log('shardwheel')\n" * 100
PAGE = """<!doctype html><html><head><base href="%BASE%"><meta name="csp-nonce" content="%NONCE%">
<link rel="icon" href="./favicon.svg"><script type="module" src="./assets/index-1.js"></script></head></html>"""
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "gzip, deflate, br",
           "Connection": "keep-alive"}


class Prefix:
    """A reverse proxy that strips "/tools/jobs" from the path, and rewrites nothing that comes back."""

    path = "/tools/jobs"

    def __init__(self, port):
        prefix = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if not self.path.startswith(prefix.path + "/"):
                    self.send_error(404, "not below the prefix")
                    return
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                connection.request("GET", self.path[len(prefix.path):], headers=dict(self.headers))
                answer = connection.getresponse()
                data = answer.read()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "keep-alive"):
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                connection.close()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}{self.path}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def get(url, headers=None, method="GET"):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), headers={**BROWSER,
                                                                                            **(headers or {})})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    answer.text = (gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" and body else body).decode()
    return answer


def open_page(url, headers=None):
    """As a browser does: (address, answer) at the end of the redirects."""
    for _ in range(5):
        answer = get(url, headers)
        if answer.status not in (302, 303):
            return url, answer
        url = urllib.parse.urljoin(url, answer.headers["Location"])
    raise AssertionError(f"redirects without end, last to {url}")


def find_base(url, answer):
    return urllib.parse.urljoin(url, re.search('<base href="([^"]*)"', answer.text)[1])


def make_console(folder):
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "index-1.js").write_text(SCRIPT)
    (folder / "assets" / "index-1.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    return folder


@pytest.fixture(scope="module")
def node(make_module_world, mariadb, tmp_path_factory):
    keys = {"shardwheel.console.web-dir": make_console(tmp_path_factory.mktemp("console") / "web"),
            "server.servlet.context-path": "/ops"}
    return make_module_world(mariadb).node(keys=keys)


@pytest.fixture(params=["", "/xxl-job-admin", "/ops", "prefix", "prefix and context"])
def root(request, node):
    """Where the console begins, without a slash at its end."""
    if not request.param.startswith("prefix"):
        yield node.url + request.param
        return
    proxy = Prefix(node.port)
    yield proxy.url + ("/ops" if request.param != "prefix" else "")
    proxy.stop()


@pytest.mark.asan
def test_who_is_not_logged_in_ends_on_the_login_page(root):
    for start in ("/", "/help", "/jobinfo", "/auth/login"):
        url, answer = open_page(root + start)
        assert url == root + "/login" and answer.status == 200, start
        assert find_base(url, answer) == root + "/"


def test_every_page_finds_its_files(root):
    for path in ("/login", "/jobs", "/jobs/7", "/jobs/7/why?from=1", "/runs/9", "/executors/3", "/cluster", "/alarms",
                 "/events", "/events/deliveries", "/users", "/tokens", "/audit", "/settings", "/import", "/account",
                 "/jobs/7/"):
        url, answer = open_page(root + path)
        assert (url, answer.status) == (root + path, 200)
        assert answer.headers["Cache-Control"] == "no-store"
        base = find_base(url, answer)
        assert base == root + "/", path
        assert get(urllib.parse.urljoin(base, "./assets/index-1.js")).text == SCRIPT
        assert get(urllib.parse.urljoin(base, "./favicon.svg")).text == "<svg/>"


@pytest.mark.asan
def test_files_are_kept_and_compressed(node):
    url = node.url + "/assets/index-1.js"
    small, plain = get(url), get(url, {"Accept-Encoding": "identity"})
    assert small.headers["Content-Encoding"] == "gzip" and plain.headers["Content-Encoding"] is None
    assert int(small.headers["Content-Length"]) < int(plain.headers["Content-Length"]) == len(SCRIPT)
    for answer in (small, plain, get(url, method="HEAD")):
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.headers["Connection"] == "keep-alive"
    again = get(url, {"If-None-Match": small.headers["ETag"]})
    assert again.status == 304 and not again.text
    for path in ("/assets/none.js", "/assets/", "/assets/../index.html", "/assets/%2e%2e/index.html", "/index.html"):
        assert get(node.url + path).status == 404, path


def test_the_policy_lets_in_this_answers_styles_and_no_other_host(node):
    answer, other = get(node.url + "/jobs"), get(node.url + "/jobs")
    nonce = re.search('csp-nonce" content="([0-9a-f]{32})"', answer.text)[1]
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'none'", "script-src": "'self'", "style-src": f"'self' 'nonce-{nonce}'",
        "img-src": "'self' data:", "font-src": "'self'", "connect-src": "'self'", "manifest-src": "'self'",
        "base-uri": "'self'", "form-action": "'self'", "frame-ancestors": "'self'"}
    assert nonce not in other.text


def test_scripts_are_answered_as_before(node):
    script = {"Accept": "*/*"}
    assert get(node.url + "/jobinfo", script).headers["Location"] == "/auth/login"
    assert get(node.url + "/ops/jobinfo", script).headers["Location"] == "/ops/auth/login"
    url, answer = open_page(node.url + "/", script)
    assert answer.status == 200, url  # and the redirects have an end
    assert get(node.url + "/login", script).headers["Location"] == "/toLogin"  # a call of POST, there
    assert get(node.url + "/nothing").status == get(node.url + "/nothing", script).status == 404


def test_who_is_logged_in_sees_the_first_page(world, tmp_path):
    node = world.node(keys={"shardwheel.console.web-dir": make_console(tmp_path / "web")})
    form = urllib.parse.urlencode({"userName": "admin", "password": "123456"})
    login = node.request("POST", "/auth/doLogin", form, {"Content-Type": "application/x-www-form-urlencoded"})
    cookie = {"Cookie": login.headers["Set-Cookie"].split(";")[0]}
    for start, end in (("/", "/"), ("/help", "/help"), ("/auth/login", "/"), ("/joblog/logDetailPage?id=9", "/runs/9"),
                       ("/jobinfo?jobGroup=1", "/jobs?jobGroup=1"), ("/xxl-job-admin", "/xxl-job-admin")):
        url, answer = open_page(node.url + start, cookie)
        assert (url, answer.status) == (node.url + end, 200)
        assert find_base(url, answer) == node.url + ("/xxl-job-admin/" if start == "/xxl-job-admin" else "/")


@pytest.mark.parametrize("damage", ["no folder", "no page", "another page"])
def test_a_node_runs_without_its_console(world, tmp_path, damage):
    folder = tmp_path / "web"
    if damage != "no folder":
        make_console(folder)
        (folder / "index.html").unlink()
    if damage == "another page":
        (folder / "index.html").write_text("<html></html>")
    node = world.node(keys={"shardwheel.console.web-dir": folder})
    url, answer = open_page(node.url + "/")
    assert url == node.url + "/login" and "tools/web build" in answer.text
    assert get(node.url + "/assets/index-1.js").status == 404
    lines = [line for line in node.log_text().splitlines() if "event=console_" in line]
    assert len(lines) == 1 and "event=console_not_loaded" in lines[0] and str(folder) in lines[0]
