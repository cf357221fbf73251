# SPDX-License-Identifier: MIT
"""Logins: on both generations of passwords, on several nodes, beside Java admins, behind a proxy; their throttle; roles
and tokens. What each dialect answers stands in tests/vectors/console/login.json and users.json."""
import base64
import hashlib
import json
import re
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.process import wait_until

CONTEXT = "/xxl-job-admin"
LOGINS = {"A": "/login", "C": "/auth/doLogin"}
COOKIES = {"A": "XXL_JOB_LOGIN_IDENTITY", "C": "xxl_job_login_token"}


def form(node, path, fields, cookie=None, **headers):
    sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    if cookie:
        sent["Cookie"] = cookie
    return node.request("POST", CONTEXT + path, urllib.parse.urlencode(fields), sent)


def v1(node, method, path, body=None, cookie=None, **headers):
    sent = {"Content-Type": "application/json", **headers}
    if cookie:
        sent["Cookie"] = cookie
    return node.request(method, "/api/v1" + path, None if body is None else json.dumps(body), sent)


def log_in(node, name="admin", password="123456", dialect="C", **more):
    answer = form(node, LOGINS[dialect], {"userName": name, "password": password, **more})
    assert answer.code == 200, answer
    return answer.headers["Set-Cookie"].split(";")[0]


def is_known(node, cookie):
    return v1(node, "GET", "/session", cookie=cookie).status == 200


def row_cookie(name, password):
    row = {"id": 1, "username": name, "password": password, "role": 1, "permission": None}
    return f"{COOKIES['A']}={json.dumps(row, separators=(',', ':')).encode().hex()}"


def token_cookie(user_id, signature):
    text = json.dumps({"userId": str(user_id), "expireTime": 0, "signature": signature}, separators=(",", ":"))
    return f"{COOKIES['C']}={base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def digest(family, password):
    return (hashlib.md5 if family < "3.2" else hashlib.sha256)(password.encode()).hexdigest()


@pytest.fixture(scope="module", params=["2.5", "3.4"])
def single(request, make_module_world, mariadb):
    world = make_module_world(mariadb, family=request.param)
    return world, world.node(keys={"shardwheel.login.proxy-header": "X-Remote-User",
                                   "shardwheel.login.proxy-networks": "192.0.2.0/24"})


@pytest.mark.parametrize("dialect", "AC")
def test_logins_verify_and_are_written_in_the_form_of_the_column(single, dialect):
    world, node = single
    family = world.tables.family
    name = f"user{dialect.lower()}"
    admin = log_in(node, dialect=dialect)
    answer = form(node, "/user/add" if dialect == "A" else "/user/insert",
                  {"username": name, "password": "secret", "role": 0, "permission": "1"}, admin)
    assert answer.code == 200, answer
    stored = world.tables.value("SELECT password FROM xxl_job_user WHERE username = %s", (name,))
    assert stored == digest(family, "secret")

    first, second = (log_in(node, name.upper() + " ", "secret", dialect) for _ in "12")
    other = log_in(node, name, "secret", "C")
    assert v1(node, "GET", "/session", cookie=first).json["groups"] == [1]
    assert is_known(node, second)
    answer = form(node, "/user/updatePwd" if dialect == "A" else "/auth/updatePwd",
                  {"oldPassword": "secret", "password": "changed"}, first)
    assert answer.code == 200, answer
    assert world.tables.value("SELECT password FROM xxl_job_user WHERE username = %s", (name,)) == \
        digest(family, "changed")
    assert not is_known(node, second) and not is_known(node, other)
    # The session that changed it lives on; a cookie with the hash in it does not.
    assert is_known(node, first) == (dialect == "C" or family >= "3.2")
    assert form(node, LOGINS[dialect], {"userName": name, "password": "secret"}).code == 500
    log_in(node, name, "changed", dialect)


def test_cookies_of_java_admins_count(single):
    world, node = single
    md5 = digest("2.5", "123456")

    assert is_known(node, row_cookie("admin", md5)) == (world.tables.family < "3.2")
    assert not is_known(node, row_cookie("admin", digest("2.5", "wrong")))
    assert not is_known(node, row_cookie("admin", digest("3.4", "123456")))  # a hash is no password there
    if world.tables.family >= "3.2":
        world.tables.execute("UPDATE xxl_job_user SET token = %s WHERE id = 1", ("5" * 32,))
        java, ours = token_cookie(1, "5" * 32), log_in(node)
        assert is_known(node, java)
        assert world.tables.value("SELECT token FROM xxl_job_user WHERE id = 1") == "5" * 32
        assert form(node, "/auth/logout", {}, ours).code == 200
        assert is_known(node, java) and not is_known(node, ours)
        assert form(node, "/auth/logout", {}, java).code == 200
        assert not is_known(node, java) and not is_known(node, token_cookie(1, ""))


def test_only_a_trusted_proxy_names_a_user(single):
    world, node = single

    assert v1(node, "GET", "/session", **{"X-Remote-User": "admin"}).status == 401
    assert "not login" in form(node, "/user/pageList", {"role": -1, "offset": 0}, **{"X-Remote-User": "admin"}).text
    other = world.node("node-b", keys={"shardwheel.login.proxy-header": "X-Remote-User",
                                       "shardwheel.login.proxy-networks": "127.0.0.0/8"})
    who = v1(other, "GET", "/session", **{"X-Remote-User": "admin"}).json
    assert (who["username"], who["by"]) == ("admin", "proxy")
    answer = v1(other, "GET", "/session", **{"X-Remote-User": "nobody"})
    assert answer.status == 401 and "nobody" in answer.json["detail"]
    foreign = {"X-Remote-User": "admin", "Sec-Fetch-Site": "cross-site"}
    assert v1(other, "DELETE", "/users/99", **foreign).status == 403
    assert form(other, "/user/remove", {"id": 99}, **foreign).status == 403
    assert v1(other, "DELETE", "/users/99", **{"X-Remote-User": "admin", "Sec-Fetch-Site": "same-origin"}).status == 404
    login = {"userName": "admin", "password": "123456"}
    assert form(other, "/auth/doLogin", login, **{"Origin": "http://elsewhere"}).status == 403
    browser = {"X-Remote-User": "admin", "User-Agent": "Mozilla/5.0", "Accept-Language": "en"}  # over plain HTTP
    assert other.request("GET", "/user/remove?id=99", None, browser).status == 403
    assert other.request("GET", "/user/pageList?role=-1&offset=0", None, browser).status == 200
    own_page = {**browser, "Referer": other.url + "/user"}
    assert other.request("GET", "/user/remove?id=99", None, own_page).status == 200
    other.kill()


def test_failed_logins_wait_and_sessions_do_not(single):
    world, node = single
    session = log_in(node)
    world.tables.execute("DELETE FROM shardwheel_login")

    answers = [form(node, "/auth/doLogin", {"userName": "Admin ", "password": "wrong"}) for _ in range(6)]
    assert all(answer.code == 500 for answer in answers)
    assert [answer.headers["Retry-After"] for answer in answers] == [None] * 5 + ["1"]
    right = {"username": "admin", "password": "123456"}
    answer = v1(node, "POST", "/session", right)
    assert answer.status == 429 and answer.headers["Retry-After"] == "1"
    assert is_known(node, session)
    wait_until(lambda: v1(node, "POST", "/session", right).status == 200, 10, "the wait to be over")
    world.tables.execute("DELETE FROM shardwheel_login")
    for i in range(10):
        assert form(node, "/auth/doLogin", {"userName": f"guess{i}", "password": "x"}).headers["Retry-After"] is None
    assert v1(node, "POST", "/session", right).status == 429  # of the address
    world.tables.execute("DELETE FROM shardwheel_login")
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'session.refused'") >= 5
    assert 'event=login_refused user="admin" address="127.0.0.1"' in node.log_text()
    assert "guess0" not in node.log_text()  # it may be a password


def test_many_logins_at_once_are_no_guessing_and_guesses_are(single):
    world, node = single
    world.tables.execute("DELETE FROM shardwheel_login")
    for i in range(100):  # as many as are kept: each login removes one
        world.tables.insert("shardwheel_session", {"id": f"{i:064}", "user_id": 1, "password_hash": "-",
                                                   "created_ms": i, "used_ms": i, "expires_ms": 1 << 50, "lives_ms": 1,
                                                   "address": "", "agent": ""})
    sent = [{"userName": "admin", "password": password} for password in ["123456"] * 24 + ["wrong"] * 24]

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda fields: form(node, "/auth/doLogin", fields), sent[:24]))
        assert [answer.code for answer in answers] == [200] * 24
        answers = list(pool.map(lambda fields: form(node, "/auth/doLogin", fields), sent[24:]))
    assert [answer.code for answer in answers] == [500] * 24
    assert sum(answer.headers["Retry-After"] is None for answer in answers) <= 6  # a second may have passed
    world.tables.execute("DELETE FROM shardwheel_login")


@pytest.mark.parametrize("number", range(2))
def test_what_is_taken_away_by_sql_counts_at_once_for_changes(single, number):
    """The read before it lets the node remember who calls."""
    world, node = single
    name, group = f"was{number}", world.group(app_name=f"app{number}")
    made = v1(node, "POST", "/users", {"username": name, "password": "secret", "role": "user", "groups": [group]},
              log_in(node))
    assert made.status == 201, made
    cookie = log_in(node, name, "secret")
    job = {"jobGroup": group, "name": "n", "author": "a", "scheduleType": "NONE", "executorHandler": "h"}
    made = v1(node, "POST", "/jobs", job, cookie)
    assert made.status == 201, made
    assert v1(node, "GET", "/session", cookie=cookie).json["groups"] == [group]
    world.tables.execute("UPDATE xxl_job_user SET permission = '' WHERE username = %s", (name,))
    if number % 2:
        refused = form(node, "/jobinfo/trigger", {"id": made.json["id"], "executorParam": ""}, cookie)
        assert refused.status >= 400 or refused.code != 200, refused
    else:
        assert v1(node, "POST", "/jobs", job, cookie).status == 403


def test_roles_of_ours_are_nothing_to_a_java_admin(single):
    world, node = single
    admin = log_in(node)
    made = v1(node, "POST", "/users", {"username": "reader", "password": "secret", "role": "reader", "groups": None},
              admin)
    assert made.status == 201 and made.headers["Location"].endswith(f"/users/{made.json['id']}")
    path, row = f"/users/{made.json['id']}", "SELECT role, permission FROM xxl_job_user WHERE username = 'reader'"
    assert world.tables.rows(row) == [{"role": 0, "permission": None}]
    reader = log_in(node, "reader", "secret")
    assert v1(node, "GET", "/session", cookie=reader).json["rights"] == ["read"]
    assert v1(node, "GET", "/users", cookie=reader).status == 403

    # A dialect's form that changes the password alone leaves the role, one with groups does not.
    change = {"id": made.json["id"], "username": "reader", "role": 0, "password": "secret2"}
    assert form(node, "/user/update", change, admin).code == 200
    assert v1(node, "GET", path, cookie=admin).json["role"] == "reader"
    tag = v1(node, "GET", path, cookie=admin).headers["ETag"]
    assert form(node, "/user/update", {**change, "permission": "1"}, admin).code == 200
    assert v1(node, "GET", path, cookie=admin).json == {"id": change["id"], "username": "reader", "role": "user",
                                                        "groups": [1], "source": None, "secondFactor": False}
    assert v1(node, "PATCH", path, {"password": "secret3"}, admin, **{"If-Match": tag}).status == 412
    assert v1(node, "PATCH", path, {"role": "runner", "groups": []}, admin).json["groups"] == []
    assert v1(node, "PATCH", "/users/1", {"role": "user", "groups": []}, admin).json["kind"] == "self"
    audit = str(world.tables.rows("SELECT * FROM shardwheel_audit"))
    assert "user.update" in audit and "secret2" not in audit and digest(world.tables.family, "secret2") not in audit
    assert v1(node, "DELETE", path, cookie=admin).status == 204
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_role") == 0


def test_tokens_are_shown_once_and_end(single):
    world, node = single
    admin = log_in(node)
    made = v1(node, "POST", "/tokens", {"name": "ci", "scopes": ["read"], "expiresAt": "2100-01-01T00:00:00Z"}, admin)
    assert made.status == 201 and re.fullmatch("swt_[A-Za-z0-9_-]{40}", made.json["token"])
    shown = {"Authorization": f"Bearer {made.json['token']}"}

    assert v1(node, "GET", "/session", **shown).json["rights"] == ["read"]
    assert v1(node, "GET", "/users", **shown).status == 403
    assert v1(node, "POST", "/tokens", {"name": "more", "scopes": ["read"]}, **shown).status == 403
    assert v1(node, "POST", "/session/password", {"oldPassword": "123456", "password": "abcd"}, **shown).status == 403
    listed = v1(node, "GET", "/tokens", cookie=admin)
    assert [item["name"] for item in listed.json["items"]] == ["ci"] and made.json["token"] not in listed.text
    assert made.json["token"] not in str(world.tables.rows("SELECT * FROM shardwheel_token"))
    assert v1(node, "POST", "/tokens", {"name": "ci", "scopes": ["read"]}, admin).json["kind"] == "taken"
    world.tables.execute("UPDATE shardwheel_token SET expires_ms = 1")
    assert v1(node, "DELETE", f"/tokens/{made.json['id'] + 9}", cookie=admin).status == 404
    assert v1(node, "DELETE", f"/tokens/{made.json['id']}", cookie=admin).status == 204
    assert v1(node, "GET", "/session", **shown).status == 401


def test_sessions_are_good_on_every_node_and_over_restarts(cluster):
    first, second = cluster.node("node-a"), cluster.node("node-b")
    cookies = [log_in(node, dialect=dialect) for node in (first, second) for dialect in "AC"]

    assert all(is_known(node, cookie) for node in (first, second) for cookie in cookies)
    first.kill()
    first.start()
    assert all(is_known(first, cookie) for cookie in cookies)
    assert len(v1(first, "GET", "/sessions", cookie=cookies[0]).json["items"]) == 4
    # A logout and a change of the role count on the other node within two seconds.
    assert form(first, "/auth/logout", {}, cookies[1]).code == 200
    assert not is_known(first, cookies[1])
    wait_until(lambda: not is_known(second, cookies[1]), 2, "the logout to count on the other node")
    cluster.tables.execute("UPDATE xxl_job_user SET role = 0, permission = '7' WHERE id = 1")
    wait_until(lambda: v1(second, "GET", "/session", cookie=cookies[0]).json["groups"] == [7], 2, "the new role")
    cluster.tables.execute("UPDATE xxl_job_user SET password = %s WHERE id = 1", (digest("3.4", "other"),))
    wait_until(lambda: not any(is_known(second, cookie) for cookie in cookies), 2, "the new password to end sessions")
