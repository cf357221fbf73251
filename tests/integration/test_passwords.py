# SPDX-License-Identifier: MIT
"""Strong passwords (shardwheel.passwords=strong): on both generations of the column, turned on and off again,
beside what Java admins take and write; floods and bad input."""
import hashlib
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.node import binary, environment, options
from test_people import digest, form, is_known, log_in, row_cookie, v1

STRONG = {"shardwheel.passwords": "strong"}
LONG = "correct horse battery staple " * 4 + "with 128 ch."
RIGHT = {"username": "admin", "password": "123456"}


def column(world, name="admin"):
    return world.tables.value("SELECT password FROM xxl_job_user WHERE username = %s", (name,))


def java_lets_in(world, name, password):
    """As the original compares, of the generation of the tables."""
    return column(world, name) == digest(world.tables.family, password)


def hashes(world):
    return {row["username"]: row["hash"] for row in world.tables.rows(
        "SELECT u.username, p.hash FROM shardwheel_password p JOIN xxl_job_user u ON u.id = p.user_id "
        "WHERE BINARY u.password = BINARY p.stands_for")}


def ctl(node, *words, given=b"", good=True):
    done = subprocess.run([binary(), "ctl", *words, *options(node.keys)], input=given, capture_output=True, timeout=60,
                          env=environment())
    assert good is None or (done.returncode == 0) == good, done
    return done.stdout.decode() + done.stderr.decode()


def status(node, password, name="admin"):
    return v1(node, "POST", "/session", {"username": name, "password": password}).status


@pytest.fixture(scope="module", params=["2.5", "3.4"])
def place(request, make_module_world, mariadb, zookeeper):
    """A node with the original's form, and one with ours."""
    world = make_module_world(mariadb, zookeeper=zookeeper, family=request.param)
    return world, world.node("original"), world.node("strong", keys=STRONG)


@pytest.fixture
def both(place):
    world, original, strong = place
    world.tables.execute("UPDATE xxl_job_user SET password = %s WHERE id = 1", (digest(world.tables.family, "123456"),))
    for table in ("login", "password", "session", "audit"):
        world.tables.execute(f"DELETE FROM shardwheel_{table}")
    world.tables.execute("DELETE FROM xxl_job_user WHERE id > 1")
    return world, original, strong


def test_a_login_moves_a_user_and_one_elsewhere_moves_him_back(both):
    world, original, strong = both
    before, old_cookie = log_in(original), row_cookie("admin", digest("2.5", "123456"))

    assert java_lets_in(world, "admin", "123456") and not hashes(world)
    assert is_known(original, old_cookie) == (world.tables.family < "3.2")
    assert status(strong, "wrong") == 401 and not hashes(world)
    first = log_in(strong)
    assert hashes(world)["admin"].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    value = column(world)
    assert len(value) <= 50 and not java_lets_in(world, "admin", "123456")
    assert is_known(strong, first) and is_known(strong, before)  # sessions go with him
    assert is_known(strong, log_in(strong)) and column(world) == value  # once
    assert status(strong, "wrong") == 401
    # Neither the old cookie of 2.x nor one with what stands in the column is a login.
    assert not is_known(strong, old_cookie) and not is_known(strong, row_cookie("admin", value))
    cookie = log_in(strong, dialect="A")
    assert is_known(strong, cookie) and value.encode().hex() not in cookie

    back = log_in(original)
    assert java_lets_in(world, "admin", "123456") and not hashes(world)
    assert all(is_known(original, each) for each in (back, first, before))
    moves = world.tables.rows("SELECT after_json FROM shardwheel_audit WHERE action = 'user.move-password' "
                              "ORDER BY id")
    assert [json.loads(row["after_json"]) for row in moves] == [{"passwords": "strong"}, {"passwords": "original"}]


def test_a_password_that_a_java_admin_writes_counts_and_moves(both):
    world, _, strong = both
    ours = log_in(strong)
    world.tables.execute("UPDATE xxl_job_user SET password = %s WHERE id = 1",
                         (digest(world.tables.family, "by java"),))
    assert java_lets_in(world, "admin", "by java") and not hashes(world)
    assert status(strong, "123456") == 401 and not is_known(strong, ours)
    log_in(strong, password="by java")
    assert hashes(world) and not java_lets_in(world, "admin", "by java")
    assert status(strong, "123456") == 401 and status(strong, "by java") == 200


def test_passwords_of_128_characters_stay_when_it_is_turned_off(both):
    world, original, strong = both
    admin = log_in(strong)
    assert len(LONG) == 128
    for dialect, path in (("A", "/user/add"), ("C", "/user/insert")):
        user = {"username": f"long{dialect}", "password": LONG, "role": 0, "permission": "1"}
        assert form(strong, path, {**user, "password": "1234567"}, admin).json["msg"].endswith("[8-128]")
        assert form(strong, path, {**user, "password": LONG + "x"}, admin).json["msg"].endswith("[8-128]")
        assert form(original, path, user, admin).json["msg"].endswith("[4-20]")
        assert form(strong, path, user, admin).code == 200
        log_in(strong, user["username"], LONG, dialect)
        log_in(original, user["username"], LONG, dialect)  # but it is of no use to a Java admin, and stays
        assert user["username"] in hashes(world)
        path = {"A": "/user/updatePwd", "C": "/auth/updatePwd"}[dialect]
        mine = log_in(strong, user["username"], LONG, dialect)
        assert form(strong, path, {"oldPassword": LONG, "password": LONG[1:]}, mine).code == 200
        assert is_known(strong, mine)
        assert status(strong, LONG, user["username"]) == 401 and status(strong, LONG[1:], user["username"]) == 200
    made = v1(strong, "POST", "/users", {"username": "v1", "password": LONG, "role": "user", "groups": []}, admin)
    assert made.status == 201, made
    mine = log_in(strong, "v1", LONG)
    change = {"oldPassword": LONG, "password": LONG[1:]}
    assert v1(strong, "POST", "/session/password", change, mine).status == 204 and is_known(strong, mine)
    assert v1(strong, "PATCH", f"/users/{made.json['id']}", {"password": "as user two"}, admin).status == 200
    assert status(strong, "as user two", "v1") == 200 and not is_known(strong, mine)
    # Set on a node with the original's form, it is in that form.
    assert v1(original, "PATCH", f"/users/{made.json['id']}", {"password": "as user"}, admin).status == 200
    assert java_lets_in(world, "v1", "as user") and "v1" not in hashes(world)
    assert v1(strong, "DELETE", f"/users/{made.json['id']}", cookie=admin).status == 204
    audit = str(world.tables.rows("SELECT * FROM shardwheel_audit"))
    assert LONG[1:] not in audit and "$argon2" not in audit


def test_going_back_names_who_cannot_log_in(both):
    world, _, strong = both
    world.tables.insert("xxl_job_user", {"username": "other", "password": digest(world.tables.family, "secret"),
                                         "role": 0})
    log_in(strong)
    told = json.loads(ctl(strong, "going-back", "--json"))["users"]
    assert told == {"count": 1, "names": ["admin"]}
    assert "1  users with strong passwords: they cannot log in: admin\n" in ctl(strong, "going-back")


@pytest.mark.parametrize("text", ["", "\n", "1234567\n", "x" * 129 + "\n", "x" * 5000, "secret\0secret\n", "\xff" * 9])
def test_set_password_refuses_what_is_none(both, text):
    world, _, strong = both
    before = column(world)
    assert ctl(strong, "set-password", "admin", given=text.encode("latin-1"), good=False).startswith("shardwheelctl: ")
    assert column(world) == before


def test_set_password_for_who_has_lost_it(both):
    world, original, strong = both
    cookie = log_in(strong)
    assert "all sessions have ended" in ctl(strong, "set-password", "admin", given=b"brand new one\n")
    assert not is_known(strong, cookie) and status(strong, "brand new one") == 200 and "admin" in hashes(world)
    ctl(original, "set-password", "admin", given=b"short\r\n")
    assert java_lets_in(world, "admin", "short") and not hashes(world)
    assert "there is no user nobody" in ctl(strong, "set-password", "nobody", given=b"brand new one\n", good=False)
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE who = 'shardwheelctl' "
                              "AND action = 'user.update'") == 2


def test_a_flood_of_logins_takes_neither_memory_nor_the_node(both):
    world, _, strong = both
    log_in(strong)
    world.tables.execute("UPDATE shardwheel_login SET failures = 0")
    def resident(name):
        with open(f"/proc/{strong.pid}/status", encoding="ascii") as file:
            return int(next(line.split()[1] for line in file if line.startswith(name)))

    with open(f"/proc/{strong.pid}/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak begins anew
    before = resident("VmRSS")
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: v1(strong, "POST", "/session", RIGHT), range(96)))
    peak = resident("VmHWM")
    assert {answer.status for answer in answers} <= {200, 429, 503}
    assert any(answer.status == 200 for answer in answers)
    assert all(answer.headers["Retry-After"] for answer in answers if answer.status != 200)
    assert 19456 // 2 < peak - before < 3.5 * 19456, (before, peak)  # two at once, and what answers take
    assert log_in(strong)


def test_bad_input_is_a_wrong_password_and_leaves_nothing(both):
    world, _, strong = both
    log_in(strong)
    for given in ("123456\0", "\x00", "123456 ", " 123456", "x" * 100_000, "123456" + "\0" * 500):
        world.tables.execute("DELETE FROM shardwheel_login")
        answer = form(strong, "/auth/doLogin", {"userName": "admin", "password": given})
        assert answer.status == 400 or answer.code != 200, (given[:20], answer)
        assert v1(strong, "POST", "/session", {**RIGHT, "password": given}).status in (400, 401), given[:20]
    world.tables.execute("DELETE FROM shardwheel_login")
    raw = b"userName=admin&password=123456%ff"
    answer = strong.request("POST", "/xxl-job-admin/auth/doLogin", raw,
                            {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 400 or answer.code != 200
    assert status(strong, "123456") == 200
    # A row that asks for a lot of memory is no hash.
    world.tables.execute("UPDATE shardwheel_password SET hash = REPLACE(hash, 'm=19456', 'm=4194304')")
    assert status(strong, "123456") == 401


def test_unknown_users_cost_a_hash_as_known_ones_do(both):
    world, original, strong = both
    world.tables.insert("xxl_job_user", {"username": "other", "password": digest(world.tables.family, "secret"),
                                         "role": 0})

    def cost(node, name):
        world.tables.execute("DELETE FROM shardwheel_login")
        before = node.metrics()["shardwheel_password_hashes_total"]
        assert status(node, "wrong", name) == 401
        return node.metrics()["shardwheel_password_hashes_total"] - before

    assert [cost(original, name) for name in ("admin", "other", "nobody")] == [0, 0, 0]
    log_in(strong)
    for node in (strong, original):  # on that one, too, as long as somebody has such a hash
        assert [cost(node, name) for name in ("admin", "other", "nobody")] == [1, 1, 1]


def test_weak_ones_are_known_after_the_move_too(both):
    world, _, strong = both
    log_in(strong)
    assert hashes(world)
    token = v1(strong, "GET", "/settings/weak", cookie=log_in(strong))
    assert "admin" in json.dumps(token.json)
    strict = world.node("strict", keys={**STRONG, "shardwheel.security.strict": "on", "xxl.job.accessToken": "x" * 20})
    refused = v1(strict, "POST", "/session", RIGHT)
    assert refused.status >= 400 and "public default" in refused.json["detail"]
    strict.kill()


def test_doctor_says_which_form_is_not_the_best(both):
    world, original, strong = both
    def codes(node, *more):
        found = json.loads(ctl(node, "doctor", "--json", *more, good=None))["findings"]
        return [finding["code"] for finding in found]

    assert "passwords_waiting" in codes(strong)
    assert not {"passwords_original", "passwords_waiting"} & set(codes(original))
    log_in(strong)
    assert "passwords_waiting" not in codes(strong)
    assert "passwords_original" in codes(original, "--shardwheel.java-guard=off")


def test_the_first_user_is_strong(make_world, mariadb):
    world = make_world(mariadb, create=False)
    keys = {**world.keys(), **STRONG}
    done = subprocess.run([binary(), "install-schema", *options(keys)], capture_output=True, text=True, check=True,
                          env=environment())
    assert "$argon2id" in world.tables.value("SELECT hash FROM shardwheel_password"), done
    password = done.stdout.split()[-1]
    assert not java_lets_in(world, "admin", password)
