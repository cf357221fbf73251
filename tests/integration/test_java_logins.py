# SPDX-License-Identifier: MIT
"""Java admins of each generation on the same users: whom they let in of those that we write, and what becomes of it."""
import pytest

import schemas
from harness.java_login import JavaLogin
from harness.oidc import Browser, FalseProvider
from harness.process import wait_until
from test_oidc import Lies, keys_of
from test_passwords import ctl
from test_people import form, is_known, log_in, row_cookie, token_cookie, v1

OUTSIDER = "mallory"
GUESSES = ("", " ", "!", "x", "123456", OUTSIDER, "null", "!x")


class Place(Lies):
    def __init__(self, world):
        self.world = world
        self.provider = FalseProvider()
        self.java = JavaLogin(world.tables)
        mapping = {"shardwheel.login.mapping": "ops -> admin; pay -> user in pay; * -> reader"}
        self.node = world.node("outside", keys={**keys_of(self.provider), **mapping})
        self.strong = world.node("strong", keys={"shardwheel.passwords": "strong"})
        self.group = world.tables.add_group("pay")

    def enter(self, groups=("ops",)):
        """Of the outsider, who has these groups now."""
        self.provider.make_token = lambda nonce: self.provider.key.sign(
            self.provider.claims(nonce, groups=list(groups)))
        browser = Browser()
        assert self.come_back(browser).location == "../../"
        return browser

    def role(self, browser):
        page = browser.session(self.node.url)
        return page and page["role"]

    def cookie_of(self, java_cookie):
        """What a browser with the Java admin's cookie sends here."""
        if self.java.is_old:
            return f"XXL_JOB_LOGIN_IDENTITY={java_cookie}"
        return token_cookie(int(java_cookie["userId"]), java_cookie["signature"])


@pytest.fixture(scope="module", params=schemas.FAMILIES)
def place(request, make_module_world, mariadb, zookeeper):
    place = Place(make_module_world(mariadb, zookeeper=zookeeper, family=request.param))
    yield place
    place.provider.close()


@pytest.fixture(autouse=True)
def only_the_first_user(place):
    for table in ("outside", "password", "role", "session", "login"):
        place.world.tables.execute(f"DELETE FROM shardwheel_{table}")
    place.world.tables.execute("DELETE FROM xxl_job_user WHERE id > 1")
    place.world.tables.execute("UPDATE xxl_job_user SET password = %s WHERE id = 1", (place.java.digest("123456"),))
    if not place.java.is_old:
        place.world.tables.execute("UPDATE xxl_job_user SET token = NULL")


def test_local_users_log_in_there(place):
    java, admin = place.java, log_in(place.node)
    made = v1(place.node, "POST", "/users", {"username": "zoe1", "password": "secret", "role": "user",
                                             "groups": [place.group]}, admin)
    assert made.status == 201, made
    for name, password in (("admin", "123456"), ("zoe1", "secret"), ("ZOE1 ", "secret")):
        cookie = java.log_in(name, password)
        found = java.find_user(cookie)
        assert found["username"] == name.strip().lower()
        assert is_known(place.node, place.cookie_of(cookie))  # and the session counts here
        for guess in GUESSES:
            assert guess == password or java.log_in(name, guess) is None
    assert java.may_see(java.row("zoe1"), place.group) and not java.may_see(java.row("zoe1"), place.group + 1)
    assert java.find_user(java.make_cookie("zoe1" if java.is_old else java.row("zoe1")["id"], "")) is None


def test_our_roles_see_nothing_there(place):
    admin = log_in(place.node)
    for role in ("reader", "runner"):
        v1(place.node, "POST", "/users", {"username": f"a{role}", "password": "secret", "role": role,
                                          "groups": [place.group]}, admin)
        row = place.java.find_user(place.java.log_in(f"a{role}", "secret"))
        assert not place.java.may_see(row, place.group) and row["role"] == 0


def check_shut(place, name):
    """Nobody logs in there as this user by what one can think of, or by what stood there before."""
    java, row = place.java, place.java.row(name)
    assert 32 != len(row["password"]) != 64 and row["password"].startswith("!")
    assert len(row["password"]) <= (50 if java.is_old else 100)
    for guess in (*GUESSES, row["password"], row["password"][1:]):
        assert java.log_in(name, guess) is None, guess
    who = name if java.is_old else row["id"]
    for secret in ("", *(java.digest(guess) for guess in GUESSES)):
        assert java.find_user(java.make_cookie(who, secret)) is None
    if not java.is_old:
        assert not row["token"]


def test_users_of_a_provider_cannot_log_in_there(place):
    browser = place.enter()
    assert place.role(browser) == "admin" and place.java.row(OUTSIDER)["role"] == 1
    check_shut(place, OUTSIDER)
    assert place.role(place.enter(("pay",))) == "user"
    assert place.java.may_see(place.java.row(OUTSIDER), place.group)
    place.enter(())
    assert not place.java.may_see(place.java.row(OUTSIDER), place.group)
    check_shut(place, OUTSIDER)


def test_strong_passwords_are_none_there(place):
    log_in(place.strong)
    check_shut(place, "admin")
    assert "admin" in ctl(place.node, "going-back")


def test_a_password_that_a_java_admin_gives_counts_there_until_the_next_login_here(place):
    java, browser = place.java, place.enter(("pay",))
    java.change(OUTSIDER, "from java", role=1)
    cookie = java.log_in(OUTSIDER, "from java")
    assert java.find_user(cookie)["role"] == 1
    assert not is_known(place.node, place.cookie_of(cookie))
    for path in ("/login", "/auth/doLogin"):
        assert form(place.node, path, {"userName": OUTSIDER, "password": "from java"}).code != 200
    wait_until(lambda: place.role(browser) is None, 10, "the end of the session of before")  # another password
    again = place.enter(("pay",))
    assert place.role(again) == "user" and java.row(OUTSIDER)["role"] == 0
    assert java.find_user(cookie) is None
    check_shut(place, OUTSIDER)


def test_a_role_that_a_java_admin_gives_counts_until_the_next_login(place):
    browser = place.enter(())
    place.java.change(OUTSIDER, role=0, permission=str(place.group))
    wait_until(lambda: place.role(browser) == "user", 10, "what the Java admin gave")
    check_shut(place, OUTSIDER)
    assert place.role(place.enter(())) == "reader"
    wait_until(lambda: place.role(browser) == "reader", 10, "what the rules give")
    assert not place.java.may_see(place.java.row(OUTSIDER), place.group)


def test_a_user_whom_a_java_admin_deletes_is_made_anew(place):
    browser, before = place.enter(), place.java.row(OUTSIDER)["id"]
    place.world.tables.execute("DELETE FROM xxl_job_user WHERE username = %s", (OUTSIDER,))
    wait_until(lambda: place.role(browser) is None, 10, "the end of the session")
    assert place.role(place.enter()) == "admin" and place.java.row(OUTSIDER)["id"] > before


def test_cookies_of_one_generation_are_nothing_to_the_other(place):
    row = place.java.row("admin")
    if place.java.is_old:
        assert not is_known(place.node, token_cookie(1, row["password"]))
    else:
        assert not is_known(place.node, row_cookie("admin", row["password"]))
