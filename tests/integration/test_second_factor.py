# SPDX-License-Identifier: MIT
"""Second factors: set up at a login and in a session, asked for, refused where nobody can ask; replays and guesses."""
import base64
import hashlib
import hmac
import json
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.process import wait_until
from test_passwords import ctl
from test_people import digest, form, is_known, log_in, row_cookie, token_cookie, v1

LOGIN = {"username": "admin", "password": "123456"}


def code_at(secret, step):
    """RFC 6238, written apart from the node's."""
    mac = hmac.new(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1).digest()
    at = mac[-1] & 15
    return f"{(struct.unpack('>I', mac[at:at + 4])[0] & 0x7fffffff) % 1000000:06}"


class App:
    """An authenticator whose clock goes a step further for each code, as a patient user would wait."""

    def __init__(self, world, secret):
        self.world, self.secret = world, secret

    def code(self):
        """One that was not used: the use of the former one is set back, so that nobody needs to wait 30 s."""
        self.world.tables.execute("UPDATE shardwheel_factor SET last_step = last_step - 5")
        return self.same()

    def same(self):
        return code_at(self.secret, int(time.time()) // 30)


def begin(node, **more):
    return v1(node, "POST", "/session", {**LOGIN, **more})


def cookie_of(answer):
    assert answer.status == 200, answer
    return answer.headers["Set-Cookie"].split(";")[0]


def enrol(world, node, **who):
    """By a login; the app, the recovery codes and a cookie."""
    asked = v1(node, "POST", "/session", {**LOGIN, **who})
    assert asked.status == 401 and asked.json["kind"] == "code-setup", asked
    app = App(world, asked.json["secret"])
    done = v1(node, "POST", "/session", {**LOGIN, **who, "code": app.same()})
    return app, done.json["recoveryCodes"], cookie_of(done)


@pytest.fixture(scope="module", params=["2.5", "3.4"])
def place(request, make_module_world, mariadb, zookeeper):
    """A node where administrators need one, and one where nobody does."""
    world = make_module_world(mariadb, zookeeper=zookeeper, family=request.param)
    return world, world.node("asks", keys={"shardwheel.second-factor": "admin,runner"}), world.node("asks-not")


@pytest.fixture
def both(place):
    world = place[0]
    for table in ("login", "factor", "recovery", "session", "audit", "token"):
        world.tables.execute(f"DELETE FROM shardwheel_{table}")
    world.tables.execute("DELETE FROM xxl_job_user WHERE id > 1")
    return place


def test_a_login_sets_it_up_and_then_asks_for_it(both):
    world, node, other = both
    def counted():
        return [node.metrics()[f'shardwheel_logins_total{{result="{result}"}}'] for result in ("accepted", "refused")]

    before = counted()
    assert begin(node, password="wrong").json["kind"] == "login"
    first = begin(node)
    assert (first.status, first.json["kind"], first.json["field"]) == (401, "code-setup", "code")
    assert first.json["url"] == f"otpauth://totp/shardwheel:admin?secret={first.json['secret']}&issuer=shardwheel"
    assert "Set-Cookie" not in first.headers
    second = begin(node)  # shown anew: the secret of before counts no more
    old = App(world, first.json["secret"])
    assert begin(node, code=old.same()).json["kind"] == "code-wrong"
    app = App(world, second.json["secret"])
    done = begin(node, code=app.same())
    codes = done.json["recoveryCodes"]
    assert len(set(codes)) == 10 and is_known(node, cookie_of(done))
    assert [now - then for now, then in zip(counted(), before)] == [1, 2]  # questions are neither

    for each in (node, other):  # one that has it is asked on every node
        assert begin(each).json["kind"] == "code-required"
        assert begin(each, code=app.same()).json["kind"] == "code-wrong"  # that one was used
        assert "recoveryCodes" not in begin(each, code=app.code()).json
    assert app.secret not in str(world.tables.rows("SELECT * FROM shardwheel_audit"))
    assert all(code not in str(world.tables.rows("SELECT * FROM shardwheel_recovery")) for code in codes)
    begun = world.tables.rows("SELECT after_json FROM shardwheel_audit WHERE action = 'session.begin' ORDER BY id")
    assert [json.loads(row["after_json"])["secondFactor"] for row in begun] == ["setUp", "code", "code"]
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'second-factor.add'") == 1


def test_a_recovery_code_is_good_once(both):
    world, node, _ = both
    _, codes, cookie = enrol(world, node)
    assert is_known(node, cookie_of(begin(node, code=codes[3].upper().replace("-", " "))))
    assert begin(node, code=codes[3]).json["kind"] == "code-wrong"
    assert v1(node, "GET", "/session/second-factor", cookie=cookie).json["recoveryCodesLeft"] == 9
    with ThreadPoolExecutor(4) as pool:  # of several at once one gets in
        answers = list(pool.map(lambda _: begin(node, code=codes[4]).status, range(4)))
    assert answers.count(200) == 1, answers


def test_one_code_at_once_lets_one_in(both):
    world, node, _ = both
    app, _, _ = enrol(world, node)
    code = app.code()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: begin(node, code=code).status, range(4)))
    assert answers.count(200) == 1, answers


def test_codes_of_others_and_of_other_times_are_wrong(both):
    world, node, other = both
    app, codes, admin = enrol(world, node)
    made = v1(node, "POST", "/users", {"username": "runner", "password": "secret", "role": "runner", "groups": None},
              admin)
    assert made.status == 201 and made.json["secondFactor"] is False
    runner, runners_codes, _ = enrol(world, node, username="runner", password="secret")
    assert v1(node, "GET", f"/users/{made.json['id']}", cookie=admin).json["secondFactor"] is True
    for code in (runner.code(), runners_codes[0], code_at(app.secret, int(time.time()) // 30 - 9), "000000x", "x" * 50,
                 "１２３４５６"):
        world.tables.execute("DELETE FROM shardwheel_login")
        assert begin(node, code=code).json["kind"] == "code-wrong", code
    assert begin(node, code="1" * 51).status == 400
    assert begin(node, code="12345\0").status == 400
    assert begin(node, code="").json["kind"] == "code-required"
    assert is_known(other, cookie_of(begin(other, code=codes[0])))


def test_guesses_wait_and_the_right_code_waits_with_them(both):
    world, node, _ = both
    app, codes, cookie = enrol(world, node)
    wrong = [begin(node, code="000000") for _ in range(6)]
    assert [answer.json["kind"] for answer in wrong[:5]] == ["code-wrong"] * 5
    assert wrong[5].status == 429 and wrong[5].headers["Retry-After"]
    world.tables.execute("UPDATE shardwheel_login SET failures = 40 WHERE who = 'c:admin'")
    world.tables.execute("DELETE FROM shardwheel_login WHERE who LIKE 'a:%'")
    for code in (app.code(), codes[0]):
        answer = begin(node, code=code)
        assert answer.status == 429 and int(answer.headers["Retry-After"]) > 800
    assert is_known(node, cookie)
    # By the session, too.
    proof = {"password": "123456", "code": app.code()}
    assert v1(node, "POST", "/session/second-factor/recovery-codes", proof, cookie).status == 429
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'session.refused'") == 5


def test_xxl_jobs_own_logins_cannot_ask(both):
    world, node, other = both
    for each in (node, other):
        if each is other:
            enrol(world, node)  # nobody needs one there, but he has one
        for path in ("/login", "/auth/doLogin"):
            refused = form(each, path, {"userName": "admin", "password": "123456"})
            assert refused.code != 200 and "second factor" in refused.json["msg"], refused
            assert "Set-Cookie" not in refused.headers
            wrong = form(each, path, {"userName": "admin", "password": "wrong"})
            assert "second factor" not in wrong.text
    # What a Java admin has begun is no login here.
    if world.tables.family >= "3.2":
        world.tables.execute("UPDATE xxl_job_user SET token = %s WHERE id = 1", ("5" * 32,))
        assert not is_known(other, token_cookie(1, "5" * 32))
    else:
        assert not is_known(other, row_cookie("admin", digest("2.5", "123456")))
    # Others log in as before.
    world.tables.insert("xxl_job_user", {"username": "plain", "role": 0, "permission": "",
                                         "password": digest(world.tables.family, "secret")})
    assert is_known(node, log_in(node, "plain", "secret", "A"))


def test_tokens_are_not_asked(both):
    world, node, _ = both
    _, _, cookie = enrol(world, node)
    token = v1(node, "POST", "/tokens", {"name": "ci", "scopes": ["read", "admin"]}, cookie).json["token"]
    shown = {"Authorization": f"Bearer {token}"}
    assert v1(node, "GET", "/users", **shown).status == 200
    assert form(node, "/user/pageList", {"role": -1, "offset": 0}, **shown).status == 200
    for method, path, body in (("GET", "", None), ("POST", "", {"password": "123456"}),
                               ("POST", "/confirm", {"code": "1"}), ("POST", "/remove", {"password": "123456"}),
                               ("POST", "/recovery-codes", {"password": "123456"})):
        assert v1(node, method, "/session/second-factor" + path, body, **shown).status == 403


def test_who_likes_sets_it_up_changes_and_removes_it(both):
    world, _, node = both
    cookie, path = log_in(node), "/session/second-factor"
    ask = lambda part, **body: v1(node, "POST", path + part, body, cookie)
    assert v1(node, "GET", path, cookie=cookie).json == {"since": None, "required": False, "recoveryCodesLeft": 0}
    assert ask("/confirm", code="123456").json["kind"] == "state"
    for part in ("/remove", "/recovery-codes"):
        assert ask(part, password="123456").json["kind"] == "state"
    assert ask("").json["kind"] == "required" and ask("", password="wrong").json["field"] == "password"
    app = App(world, ask("", password="123456").json["secret"])
    assert begin(node).status == 200  # not in use yet
    assert ask("/confirm", code="000000").json["kind"] == "invalid"
    codes = ask("/confirm", code=app.same()).json["recoveryCodes"]
    state = v1(node, "GET", path, cookie=cookie).json
    assert state["since"] and state["recoveryCodesLeft"] == 10
    assert begin(node).json["kind"] == "code-required"

    # A stolen session is no way to another one: password and code.
    assert ask("", password="123456").json["kind"] == "required"
    assert ask("", password="123456", code=app.same()).json["field"] == "code"
    fresh = App(world, ask("", password="123456", code=codes[0]).json["secret"])
    assert cookie_of(begin(node, code=app.code()))  # until the other one is confirmed
    more = ask("/confirm", code=fresh.same()).json["recoveryCodes"]
    assert begin(node, code=app.code()).json["kind"] == "code-wrong"
    assert begin(node, code=codes[1]).json["kind"] == "code-wrong"
    newest = ask("/recovery-codes", password="123456", code=fresh.code()).json["recoveryCodes"]
    assert begin(node, code=more[0]).json["kind"] == "code-wrong"
    assert ask("/remove", password="123456", code=newest[0]).status == 204
    assert begin(node).status == 200
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_factor") == 0
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_recovery") == 0


def test_doctor_names_who_has_not_set_it_up(both):
    world, node, other = both
    codes = lambda each: [f["code"] for f in json.loads(ctl(each, "doctor", "--json", good=None))["findings"]]
    assert "factor_waiting" in codes(node) and "factor_waiting" not in codes(other)
    enrol(world, node)
    assert "factor_waiting" not in codes(node)


def wait_for_end(node, cookie):
    wait_until(lambda: not is_known(node, cookie), 10, "the end of the session")


def add_plain(world, name):
    return world.tables.insert("xxl_job_user", {"username": name, "role": 0, "permission": "",
                                                "password": digest(world.tables.family, "secret")})


def by_a_java_admin(world, node, user_id):
    """Its page writes the row, and leaves a blank password out."""
    world.tables.execute("UPDATE xxl_job_user SET role = 1, permission = '' WHERE id = %s", (user_id,))


def by_the_console(world, node, user_id):
    _, _, admin = enrol(world, node)
    changed = v1(node, "PATCH", f"/users/{user_id}", {"role": "admin"}, admin)
    assert changed.status == 200, changed


@pytest.mark.parametrize("promote", [by_a_java_admin, by_the_console])
def test_a_session_does_not_outlive_a_role_that_needs_a_factor(both, promote):
    world, node, other = both
    user_id, zoe = add_plain(world, "zoe"), {"username": "zoe", "password": "secret"}
    theirs = [log_in(node, "zoe", "secret"), log_in(other, "zoe", "secret"), cookie_of(begin(node, **zoe)),
              log_in(node, "zoe", "secret", "A")]
    token = v1(node, "POST", "/tokens", {"name": "ci", "scopes": ["read"]}, theirs[0]).json["token"]
    assert all(is_known(node, cookie) for cookie in theirs)
    promote(world, node, user_id)
    # What changes something asks at once, what reads after two seconds.
    assert v1(node, "POST", "/tokens", {"name": "more", "scopes": ["read"]}, theirs[0]).status == 401
    for cookie in theirs:
        wait_for_end(node, cookie)
        assert form(node, "/user/pageList", {"role": -1, "offset": 0}, cookie).code != 200
    assert is_known(other, theirs[1])  # nobody needs one there
    assert v1(node, "GET", "/session", Authorization=f"Bearer {token}").status == 200
    _, _, asked = enrol(world, node, **zoe)
    assert v1(node, "GET", "/users", cookie=asked).status == 200
    assert not any(is_known(node, cookie) for cookie in theirs)


def test_a_session_that_set_it_up_outlives_a_role_that_needs_it(both):
    world, node, other = both
    user_id, zoe = add_plain(world, "zoe"), {"username": "zoe", "password": "secret"}
    before, own = log_in(node, "zoe", "secret"), log_in(node, "zoe", "secret")
    ask = lambda part, **body: v1(node, "POST", "/session/second-factor" + part, body, own)
    app = App(world, ask("", password="secret").json["secret"])
    assert ask("/confirm", code=app.same()).status == 200
    asked = cookie_of(begin(node, **zoe, code=app.code()))
    assert all(is_known(node, cookie) for cookie in (before, own, asked))
    by_a_java_admin(world, node, user_id)
    wait_for_end(node, before)
    assert is_known(node, own) and is_known(node, asked)
    # Another factor: who has shown the one of before is asked again.
    fresh = App(world, ask("", password="secret", code=app.code()).json["secret"])
    assert ask("/confirm", code=fresh.same()).status == 200
    wait_for_end(node, asked)
    assert is_known(node, own)
    ctl(node, "reset-second-factor", "zoe")  # it was lost, or stolen
    wait_for_end(node, own)


def test_what_was_begun_an_hour_ago_is_over(both):
    world, node, _ = both
    asked = begin(node)
    world.tables.execute("UPDATE shardwheel_factor SET pending_ms = pending_ms - 3600000")
    again = begin(node, code=App(world, asked.json["secret"]).same())
    assert again.json["kind"] == "code-setup" and again.json["secret"] != asked.json["secret"]


def test_an_administrator_or_the_command_removes_it(both):
    world, node, _ = both
    app, _, admin = enrol(world, node)
    made = v1(node, "POST", "/users", {"username": "runner", "password": "secret", "role": "runner", "groups": None},
              admin).json
    path = f"/users/{made['id']}/second-factor"
    assert v1(node, "DELETE", path, cookie=admin).status == 404
    _, _, runner = enrol(world, node, username="runner", password="secret")
    assert v1(node, "DELETE", path, cookie=runner).status == 403
    assert v1(node, "DELETE", "/users/1/second-factor", cookie=admin).json["kind"] == "self"
    assert v1(node, "POST", "/session/second-factor/remove", {"password": "secret"}, runner).json["kind"] == "off"
    assert v1(node, "DELETE", path, cookie=admin).status == 204
    enrol(world, node, username="runner", password="secret")
    assert "no longer has a second factor" in ctl(node, "reset-second-factor", "admin")
    assert "has no second factor" in ctl(node, "reset-second-factor", "admin", good=False)
    assert "there is no user" in ctl(node, "reset-second-factor", "nobody", good=False)
    assert begin(node).json["kind"] == "code-setup"
    told = json.loads(ctl(node, "going-back", "--json"))
    assert told["secondFactor"]["count"] == 1
    assert not is_known(node, admin)
    _, _, admin = enrol(world, node)
    assert v1(node, "DELETE", f"/users/{made['id']}", cookie=admin).status == 204
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_recovery WHERE user_id > 1") == 0
    who = world.tables.rows("SELECT who FROM shardwheel_audit WHERE action = 'second-factor.remove' ORDER BY id")
    assert [row["who"] for row in who] == ["admin", "shardwheelctl"]
