# SPDX-License-Identifier: MIT
"""Secrets: those that everybody knows are told of and refused, the others show nowhere, however much fails."""
import http.server
import json
import os
import re
import signal
import stat
import threading

import pytest

from harness.api_v1 import Document, load_calls
from harness.certificates import Authority, server_context
from harness.console_site import Site
from harness.mail import MailServer
from harness.node import Node, options, run_shardwheel
from harness.process import free_ports, wait_until
from harness.v1 import Api, add_token, add_user
from harness.webhooks import Webhooks

BEAT = {"registryGroup": "EXECUTOR", "registryKey": "beating", "registryValue": "http://10.9.8.7:9999/"}
REFUSED = (1, 2, 78, 255)


def reload(node, event):
    before = node.log_text().count(event)
    node.signal(signal.SIGHUP)
    wait_until(lambda: node.log_text().count(event) > before, 10, event)


def log_in(node, name, password="123456"):
    return Api(node, None).call("POST", "/session", {"username": name, "password": password})


# ---- secrets that everybody knows


def test_what_everybody_knows_is_told_to_the_log_and_to_administrators(make_world, mariadb):
    world = make_world(mariadb, family="3.5")
    tables = world.tables
    tables.execute("UPDATE xxl_job_user SET password = SHA2('123456', 256)")
    tables.add_group("own", token="default_token")
    node = world.node()
    admin = Api(node, add_token(tables, add_user(tables, "weak-admin", role=1)))

    with open(f"/proc/{node.popen.pid}/limits", encoding="ascii") as limits:
        assert re.search(r"^Max core file size +0 +0 ", limits.read(), re.M), "a crash writes no secrets to a file"
    wait_until(lambda: "what=groups" in node.log_text(), 10, "the warnings")
    lines = re.findall(r"event=weak_secret what=(\S+) where=(\S+)(?: who=(\S+))?", node.log_text())
    assert lines == [("token-default", "xxl.job.accessToken", ""), ("users", "xxl_job_user.password", '"admin"'),
                     ("groups", "xxl_job_group.access_token", '"own"')]
    shown = admin.good("GET", "/settings/weak")["items"]
    assert [(item["code"], item["count"], item["names"]) for item in shown] == [
        ("token-default", 1, []), ("users", 1, ["admin"]), ("groups", 1, ["own"])]
    assert node.metrics()['shardwheel_weak_secrets{kind="token"}'] == 1

    tables.execute("UPDATE xxl_job_user SET password = SHA2('another', 256)")
    node.signal(signal.SIGHUP)
    wait_until(lambda: node.metrics()['shardwheel_weak_secrets{kind="users"}'] == 0, 10, "the password to be seen")
    assert node.log_text().count("event=weak_secret") == 3, "what is known is told once a day"


def test_strict_refuses_the_start_the_reload_and_the_login(make_world, mariadb, tmp_path):
    world = make_world(mariadb)
    tables, folder = world.tables, tmp_path / "tree"
    folder.mkdir(mode=0o700)
    secret = folder / "xxl.job.accessToken"
    strict = {"shardwheel.security.strict": "on"}
    done = run_shardwheel(options({**world.keys(), **strict, "spring.datasource.password": "root_pwd"}))
    assert done.returncode in REFUSED
    assert "xxl.job.accessToken (command line)" in done.stderr
    assert "spring.datasource.password (command line)" in done.stderr, "both at once"

    secret.write_text("one-that-is-good\n")
    tables.execute("UPDATE xxl_job_user SET password = SHA2('123456', 256) WHERE username = 'admin'")
    node = world.node(keys={"xxl.job.accessToken": None, **strict, "spring.config.import": f"configtree:{folder}/"})
    assert node.post("/api/registry", BEAT, "one-that-is-good").code == 200
    refused = log_in(node, "admin")
    assert refused.status == 403 and "shardwheel.security.strict" in refused.json["detail"]
    admin = Api(node, add_token(tables, add_user(tables, "strict-admin", role=1)))
    admin.refused("POST", "/users", {"username": "fresh", "password": "123456", "role": "admin"}, field="password")
    admin.good("POST", "/users", {"username": "fresh", "password": "234567", "role": "admin"}, status=201)
    assert log_in(node, "fresh", "234567").status == 200

    secret.write_text("default_token\n")
    reload(node, "event=reload_refused")
    assert node.post("/api/registry", BEAT, "one-that-is-good").code == 200
    assert node.post("/api/registry", BEAT, "default_token").code == 500
    secret.write_text("another-good-one\n")
    reload(node, "event=reloaded")
    assert node.post("/api/registry", BEAT, "another-good-one").code == 200


def test_a_cookie_of_the_password_that_everybody_knows_is_refused(make_world, mariadb):
    """That of 2.3 is made of the password alone, without any login."""
    site = Site(make_world(mariadb, family="2.3"), keys={
        "shardwheel.security.strict": "on", "xxl.job.accessToken": "one-that-is-good"})
    cookie = {"Cookie": f"XXL_JOB_LOGIN_IDENTITY={site.vars['a_cookie']}"}
    path = f"/jobinfo/pageList?jobGroup={site.vars['g1']}&triggerStatus=-1"
    assert '"recordsTotal"' not in site.node.request("POST", path, b"", cookie).text
    site.tables.execute("UPDATE xxl_job_user SET password = MD5('another') WHERE username = 'ann'")
    cookie["Cookie"] = cookie["Cookie"].replace(site.hash("123456").encode().hex(), site.hash("another").encode().hex())
    wait_until(lambda: '"recordsTotal"' in site.node.request("POST", path, b"", cookie).text, 10, "a better one to do")


def test_new_databases_get_a_token(make_world, mariadb, tmp_path):
    world = make_world(mariadb, create=False)
    keys = {**world.keys(), "xxl.job.accessToken": ""}
    done = run_shardwheel(["install-schema", *options(keys)])
    line = re.search(r"^xxl\.job\.accessToken=([0-9a-f]{48})$", done.stdout, re.M)
    assert done.returncode == 0 and line and line[1] not in done.stderr, done.stdout + done.stderr
    assert "accessToken" not in run_shardwheel(["install-schema", *options(keys)]).stdout, "it is not new any more"

    data = tmp_path / "data"
    node = Node("alone", str(tmp_path), {}, ["standalone", "--data", str(data)])
    try:
        node.start(40)
        token = (data / "access-token").read_text().strip()
        assert stat.S_IMODE(os.stat(data / "access-token").st_mode) == 0o600 and len(token) == 48
        assert f'event=access_token_made file="{data}/access-token"' in node.log_text()
        assert token not in node.log_text()
        assert node.post("/api/registry", BEAT, token).code == 200
        assert node.post("/api/registry", BEAT).code == 500
        node.signal(signal.SIGHUP)
        wait_until(lambda: "event=reloaded" in node.log_text(), 10, "the settings to be read again")
        assert node.post("/api/registry", BEAT, token).code == 200
    finally:
        node.end_cleanly()


# ---- the others


class Elsewhere:
    """A host that nobody means to call."""

    def __init__(self):
        self.heard = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.heard.append(dict(self.headers))

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


MARK = "ZqLeAk"


def secret_of(what):
    return f"{MARK}-{what}-7Q"


def find_leaks(texts):
    """Names of those texts in which a secret stands, with what is around it."""
    return [f"{name}: ...{text[max(0, at - 80):at + 60]}..." for name, text in texts.items()
            for at in [text.lower().find(MARK.lower())] if at >= 0]


@pytest.fixture
def receivers():
    hooks, mail = Webhooks(), MailServer(login=("mailer", "not-that-one"))
    yield hooks, mail
    hooks.close()
    mail.close()


def keys_with_secrets(folder, hooks, mail):
    """Nothing of it works: each goes where it is refused."""
    secrets = {
        "xxl.job.accessToken": secret_of("token"),
        "spring.mail.password": secret_of("mail"),
        "shardwheel.alarm.channels": "\n".join([
            f"slack={hooks.url('slack-no')}/{secret_of('slack')}",
            f"dingtalk={hooks.url('dingtalk')}?access_token={secret_of('ding')} secret={secret_of('sign')}",
            f"json=http://user:{secret_of('user')}@127.0.0.1:1/{secret_of('path')}?key={secret_of('key')}",
            f"wecom=https://127.0.0.1:{hooks.port}/wecom?key={secret_of('tls')}",
        ]),
    }
    for key, value in secrets.items():
        path = folder / key
        path.write_text(value)
        path.chmod(0o600)
    return {
        "xxl.job.accessToken": None, "spring.config.import": f"configtree:{folder}/", "shardwheel.log.level": "debug",
        "shardwheel.log.format": "json", "spring.mail.host": "127.0.0.1", "spring.mail.port": mail.port,
        "spring.mail.username": "mailer", "spring.mail.from": "mailer@example.org",
    }


def pages(node, admin, ids):
    """Every GET of api/v1 as an administrator, the pages without a login, and refusals."""
    texts = {}
    rows = {row["call"]: row for row in load_calls()["calls"]}
    for call in Document(node).operations():
        method, path = call.split(" ")
        if method == "GET":
            topic = path.split("/")[3]
            path = re.sub(r"\{(\w+)\}", lambda m: str(ids.get(topic, 1)), path)
            query = "&".join(f"{k}={ids['jobs'] if str(v).startswith('$') else v}"
                             for k, v in rows[call].get("query", {}).items())
            texts[call] = admin.call("GET", path.removeprefix("/api/v1") + ("?" + query if query else "")).text
    for path in ("/actuator/health", "/actuator/health/liveness", "/actuator/health/readiness", "/metrics",
                 "/openapi.json", "/actuator/env", "/nothing", "/jobinfo"):
        texts[path] = node.get(path).text
    texts["bad token"] = node.post("/api/registry", BEAT, "wrong").text
    texts["bad beat"] = node.post("/api/registry", {**BEAT, "registryValue": ""}, secret_of("token")).text
    texts["bad JSON"] = node.post("/api/callback", b"{", secret_of("token")).text
    return texts


def bad_starts(world, tmp_path):
    """What is said when nothing can begin."""
    url = f"jdbc:mysql://u:{secret_of('url')}@127.0.0.1:{free_ports()}/x"
    bad_url = f"jdbc:mysql://u:{secret_of('url')}@127.0.0.1:99999/x?password={secret_of('url2')}"
    tree = tmp_path / "bad"
    tree.mkdir(mode=0o700)
    (tree / "spring.mail.password").write_text(f"{secret_of('one')}\n{secret_of('two')}\n")
    file = tmp_path / "bad.properties"
    file.write_text(f"spring.datasource.url={url}\nspring.mail.password={secret_of('mail')}\nserver.port=x\n")
    wrong = {**world.keys(), "spring.datasource.password": secret_of("wrong"), "shardwheel.log.level": "debug"}
    starts = {
        "away": options({"spring.datasource.url": url, "shardwheel.log.level": "debug"}),
        "bad url": options({"spring.datasource.url": bad_url}),
        "denied": options(wrong),
        "ctl": ["ctl", "nodes", *options(wrong)],
        "install": ["install-schema", *options(wrong)],
        "tree": options({**wrong, "spring.config.import": f"configtree:{tree}/"}),
        "file": ["--config", str(file)],
        "long": options({**wrong, "xxl.job.accessToken": secret_of("long") * 100}),
        "channel": options({**world.keys(), "shardwheel.alarm.channels": f"slak=http://h/{secret_of('hook')}"}),
        "words": [f"xxl.job.accessToken={secret_of('word')}"],
        "alarm-test": ["ctl", "alarm-test", *options({"spring.datasource.url": url, "shardwheel.alarm.channels":
                       f"slack=http://127.0.0.1:1/{secret_of('hook')}"})],
    }
    texts = {}
    for name, arguments in starts.items():
        done = run_shardwheel(arguments)
        assert done.returncode in REFUSED, f"{name}: {done}"
        texts[name] = done.stdout + done.stderr
    return texts


def test_no_secret_shows_however_much_fails(make_world, mariadb, tmp_path, receivers):
    hooks, mail = receivers
    hooks.replies["slack-no"] = (500, "no")
    world = make_world(mariadb, family="3.5")
    tables = world.tables
    folder = tmp_path / "tree"
    folder.mkdir(mode=0o700)
    node = world.node(keys=keys_with_secrets(folder, hooks, mail))

    def lines():
        return [json.loads(line) for line in node.log_text().splitlines() if line.startswith("{")]

    admin = Api(node, add_token(tables, add_user(tables, "hider", role=1)))
    executor = world.executor()
    group = world.group(executor, token=secret_of("group"))
    job = tables.add_job(group, "plain", alarm_email="a@example.org", trigger_status=0, trigger_next_time=0)

    user = admin.good("POST", "/users", {"username": "seeker", "password": secret_of("pw"), "role": "reader",
                                         "groups": None}, status=201)
    admin.good("PATCH", f"/users/{user['id']}", {"password": secret_of("pw2")})
    shown = admin.good("POST", "/tokens", {"name": "once", "scopes": ["read"]}, status=201)
    admin.good("PATCH", f"/groups/{group}", {"accessToken": secret_of("group2")})
    admin.good("POST", "/alarms/channels", {"kind": "json", "url": f"http://127.0.0.1:1/{secret_of('console')}",
                                            "secret": secret_of("csign")}, status=201)
    assert log_in(node, "seeker", secret_of("typed")).status == 401
    assert log_in(node, secret_of("typed-as-name")[:20], "x").status == 401

    executor.close()
    admin.good("POST", f"/jobs/{job}/trigger", {}, status=202)
    wait_until(lambda: tables.value("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 500"), 20, "the run to fail")
    texts = {"alarm test": admin.call("POST", "/alarms/test", {}).text}
    wait_until(lambda: ("alarm_refused", "mail") in {(line.get("event"), line.get("channel")) for line in lines()}, 30,
               "the alarm that nobody took")

    (folder / "spring.mail.password").write_text(f"{secret_of('mail')}\0x")
    reload(node, '"reload_refused"')
    (folder / "spring.mail.password").write_text(secret_of("mail3"))
    (folder / "xxl.job.accessToken").write_text(secret_of("token3"))
    reload(node, '"reloaded"')
    (folder / "xxl.job.accessToken").write_text(secret_of("token"))
    reload(node, '"reloaded"')

    run = tables.value("SELECT MAX(id) FROM xxl_job_log")
    texts.update(pages(node, admin, {"jobs": job, "runs": run, "groups": group, "users": user["id"]}))
    texts["audit"] = str(tables.rows("SELECT * FROM shardwheel_audit"))
    texts["events"] = str(tables.rows("SELECT * FROM shardwheel_event"))
    texts["runs"] = str(tables.rows("SELECT * FROM xxl_job_log"))
    texts["token"] = MARK if shown["token"] in node.log_text() + texts["audit"] + texts["GET /api/v1/tokens"] else ""
    texts.update(bad_starts(world, tmp_path))
    texts["log"] = node.log_text()

    told = lines()
    assert {"spring.mail.password": "(hidden)"}.items() <= {
        line["key"]: line["value"] for line in told if line.get("key")}.items(), "the settings are told at debug"
    assert "no token" in texts["log"] and "receiver_away" in texts["log"], "what failed is told"
    assert find_leaks(texts) == []


def test_a_redirect_takes_the_token_nowhere(make_world, mariadb, tmp_path):
    """Of either client: that of http executors is our own, that of https ones a library's, which could follow."""
    elsewhere = Elsewhere()

    class Redirecting(http.server.BaseHTTPRequestHandler):
        heard = []

        def do_POST(self):
            self.heard.append((self.server, self.headers.get("XXL-JOB-ACCESS-TOKEN")))
            self.send_response(307)
            self.send_header("Location", elsewhere.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    plain, tls = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) for _ in range(2))
    authority = Authority(tmp_path)
    tls.socket = server_context(authority.issue("executor", "127.0.0.1")).wrap_socket(tls.socket, server_side=True)
    for server in (plain, tls):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    world = make_world(mariadb)
    world.node(keys={"xxl.job.accessToken": secret_of("token"), "shardwheel.executor.tls.ca": authority.ca})
    groups = [world.tables.add_group(name, [f"{name}://127.0.0.1:{server.server_port}/"])
              for name, server in (("http", plain), ("https", tls))]
    try:
        for job in [world.tables.add_job(group) for group in groups]:
            world.tables.wait_logs(job, "trigger_code = 500", 2)
        assert {(plain, secret_of("token")), (tls, secret_of("token"))} == set(Redirecting.heard)
        assert elsewhere.heard == []
    finally:
        for server in (plain, tls, elsewhere.server):
            server.shutdown()
