# SPDX-License-Identifier: MIT
"""Logins by an LDAP server, a real one: who gets in, as what, who does not, and what happens while it is away."""
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.certificates import Authority
from harness.doctor import examine
from harness.false_directory import FalseDirectory
from harness.ldap_server import ACCOUNT, BASE, LdapServer, group, person
from harness.node import options, run_shardwheel
from harness.process import wait_until

MAPPING = ("ops -> admin; team-pay -> user in pay-*; all-staff -> reader; "
           '"cn=auditors,ou=groups,dc=example,dc=org" -> runner')


class Site:
    def __init__(self, world):
        self.world = world
        self.ldap = LdapServer().start()
        self.ldap.add_person("anna", "anna's word")
        self.ldap.add_person("paul", "paul's word")
        self.ldap.add_person("nina", "nina's word")
        self.ldap.add_person("audi", "audi's word")
        self.ldap.add_person("none", "none's word")
        self.ldap.add_person("twin", "twin's word")
        self.ldap.add_person("twin", "twin's word", place="accounts")
        self.ldap.add_person("admin", "admin's word")
        self.ldap.add_group("ops", person("anna"))
        self.ldap.add_group("team-pay", person("paul"))
        # Nina is in it by three steps, and two of them are in each other.
        self.ldap.add_group("desk", person("nina"))
        self.ldap.add_group("floor", group("desk"), group("house"))
        self.ldap.add_group("house", group("floor"))
        self.ldap.add_group("all-staff", group("house"))
        self.ldap.add_group("auditors", person("audi"))
        self.group = world.group(app_name="pay-executor")
        self.node = world.node(keys={**self.ldap.settings(), "shardwheel.login.mapping": MAPPING})

    def log_in(self, name, password):
        return log_in(self.node, name, password)


def log_in(node, name, password, seconds=20):
    return node.request("POST", "/api/v1/session", json.dumps({"username": name, "password": password}),
                        {"Content-Type": "application/json"}, seconds=seconds)


def who(node, answer):
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    return node.request("GET", "/api/v1/session", headers={"Cookie": cookie})


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    site = Site(make_module_world(mariadb))
    yield site
    site.ldap.destroy()


@pytest.fixture(autouse=True)
def no_failures(request):
    """Each test begins without failed logins that slow it down."""
    if "site" in request.fixturenames:
        request.getfixturevalue("site").world.tables.execute("DELETE FROM shardwheel_login")


# ---- who gets in -----------------------------------------------------------------------------------------------------


@pytest.mark.asan
@pytest.mark.parametrize("name, role", [("anna", "admin"), ("paul", "user"), ("nina", "reader"), ("audi", "runner")])
def test_groups_become_role(site, name, role):
    answer = site.log_in(name, f"{name}'s word")
    assert answer.status == 200, answer
    said = who(site.node, answer).json
    assert (said["username"], said["role"]) == (name, role)
    assert said["groups"] == ([site.group] if name == "paul" else None)
    rows = site.world.tables.rows("SELECT u.role, o.source, o.subject FROM xxl_job_user u JOIN shardwheel_outside o "
                                   "ON o.user_id = u.id WHERE u.username = %s", (name,))
    assert [(row["role"], row["source"]) for row in rows] == [(int(role == "admin"), "ldap")]
    assert rows[0]["subject"] in site.ldap.tool("ldapsearch", "-b", person(name), "entryUUID")
    assert site.world.tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'session.begin' AND "
                                   "who = %s AND via = 'ldap'", (name,)) >= 1


def test_case_of_letters_makes_no_other_user(site):
    for typed in ("anna", "ANNA", " Anna "):
        assert who(site.node, site.log_in(typed, "anna's word")).json["username"] == "anna"
    assert site.world.tables.value("SELECT COUNT(*) FROM xxl_job_user WHERE username = 'anna'") == 1


def test_letters_that_look_alike_are_nobody(site):
    """Else each way to write a name would have failures of its own."""
    for typed in ("\uff41nna", "ann\uff41", "\uff41nn\uff41"):
        assert site.log_in(typed, "anna's word").status == 401, typed


def test_consoles_of_xxl_job_log_in_too(site):
    answer = site.node.request("POST", "/xxl-job-admin/auth/doLogin", "userName=anna&password=anna's+word",
                               {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.code == 200 and "xxl_job_login_token" in answer.headers["Set-Cookie"], answer


def test_starttls(make_world, mariadb, site):
    before = site.ldap.process.log_text().count("STARTTLS")
    node = make_world(mariadb).node(keys={**site.ldap.settings(tls=False), "shardwheel.login.mapping": MAPPING})
    assert log_in(node, "anna", "anna's word").status == 200
    assert site.ldap.process.log_text().count("STARTTLS") == before + 1


# ---- who does not ----------------------------------------------------------------------------------------------------


@pytest.mark.asan
def test_all_that_is_wrong_has_one_answer(site):
    unknown = site.log_in("nobody", "word")
    assert unknown.status == 401
    local = site.log_in("admin", "not 123456")
    for name, password in [("anna", "another"), ("twin", "twin's word"), ("*", "anna's word"), ("ann*", "anna's word"),
                           ("anna)(uid=*", "anna's word"), ("anna)(|(uid=*", "x"), ("*)(objectClass=*", "x"),
                           ("anna\\2a", "anna's word"), ("an\nna", "anna's word"), ("anna", "anna's word "),
                           ("a" * 200, "word"), ("anna", "w" * 200)]:
        site.world.tables.execute("DELETE FROM shardwheel_login")
        answer = site.log_in(name, password)
        assert (answer.status, answer.json) == (401, unknown.json) == (401, local.json), (name, answer)
    for name, password in [("anna", ""), ("anna", " "), ("", "anna's word"), ("a" * 100000, "word"),
                           ("anna", "w" * 100000)]:
        assert site.log_in(name, password).status == 400
    assert not site.world.tables.value("SELECT COUNT(*) FROM xxl_job_user WHERE username LIKE 'twin%'")

    def is_told():  # lines of the log have a limit
        site.world.tables.execute("DELETE FROM shardwheel_login")
        assert site.log_in("twin", "twin's word").status == 401
        return "several users" in site.node.log_text()

    wait_until(is_told, 90, "the refusal of several users")


def test_empty_passwords_reach_nobody(site):
    """A server takes a name without a password for nobody, and says yes."""
    before = site.ldap.process.log_text().count(" BIND ")
    for dialect, fields in [("/auth/doLogin", "userName=anna&password="), ("/auth/doLogin", "userName=anna")]:
        answer = site.node.request("POST", "/xxl-job-admin" + dialect, fields,
                                   {"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.code != 200, answer
    assert site.ldap.process.log_text().count(" BIND ") == before


def test_who_fits_no_rule(site):
    answer = site.log_in("none", "none's word")
    assert answer.status == 403, answer
    assert not site.world.tables.value("SELECT COUNT(*) FROM xxl_job_user WHERE username = 'none'")


def test_local_users_are_not_asked_for(site):
    """The admin of the directory is another one than that of the table."""
    before = site.ldap.process.log_text().count("uid=admin")
    assert site.log_in("admin", "admin's word").status == 401
    assert who(site.node, site.log_in("admin", "123456")).json["role"] == "admin"
    assert site.ldap.process.log_text().count("uid=admin") == before


def test_local_password_of_a_directory_user(site):
    """As a Java admin would give it to him."""
    assert site.log_in("paul", "paul's word").status == 200
    site.world.tables.execute("UPDATE xxl_job_user SET password = SHA2('from Java', 256) WHERE username = 'paul'")
    assert site.log_in("paul", "from Java").status == 401
    assert site.log_in("paul", "paul's word").status == 200


def test_second_factor_is_of_local_users(make_world, mariadb, site):
    """And both kinds of passwords are looked at where each is, with strong local ones too."""
    node = make_world(mariadb).node(keys={**site.ldap.settings(), "shardwheel.login.mapping": MAPPING,
                                          "shardwheel.passwords": "strong", "shardwheel.second-factor": "admin"})
    assert who(node, log_in(node, "anna", "anna's word")).json["role"] == "admin"
    assert log_in(node, "anna", "another").status == 401
    answer = log_in(node, "admin", "123456")
    assert (answer.status, answer.json["kind"]) == (401, "code-setup"), answer
    answer = log_in(node, "admin", "admin's word")
    kind = answer.json.get("kind", False)
    assert (answer.status, kind) == (401, log_in(node, "admin", "x").json["kind"])


def test_strong_local_password(make_world, mariadb, site):
    world = make_world(mariadb)
    node = world.node(keys={**site.ldap.settings(), "shardwheel.login.mapping": MAPPING,
                            "shardwheel.passwords": "strong"})
    for _ in range(2):  # the first one moves the password
        assert who(node, log_in(node, "admin", "123456")).json["role"] == "admin"
    assert world.tables.value("SELECT COUNT(*) FROM shardwheel_password") == 1
    before = site.ldap.process.log_text().count("uid=admin")
    assert log_in(node, "admin", "admin's word").status == 401
    assert site.ldap.process.log_text().count("uid=admin") == before
    assert log_in(node, "anna", "anna's word").status == 200


def test_local_passwords_are_off(make_world, mariadb, site):
    node = make_world(mariadb).node(keys={**site.ldap.settings(), "shardwheel.login.mapping": MAPPING,
                                          "shardwheel.login.local": "none"})
    assert node.request("GET", "/api/v1/login").json["password"]
    assert log_in(node, "anna", "anna's word").status == 200
    assert log_in(node, "admin", "123456").status != 200


def test_failures_are_slowed_down(site):
    answers = [site.log_in("anna", "guess") for _ in range(7)]
    assert [a.status for a in answers[:5]] == [401] * 5
    assert answers[-1].status == 429 and int(answers[-1].headers["Retry-After"]) >= 1
    asked = site.ldap.process.log_text().count('filter="(uid=anna)"')
    assert site.log_in("anna", "anna's word").status == 429
    assert site.ldap.process.log_text().count('filter="(uid=anna)"') == asked


def test_many_guesses_at_once_gain_nothing(site):
    asked = site.ldap.process.log_text().count('filter="(uid=anna)"')
    with ThreadPoolExecutor(24) as pool:
        answers = [a.status for a in pool.map(lambda i: site.log_in("anna", f"guess {i}"), range(24))]
    assert set(answers) <= {401, 429, 503} and answers.count(401) <= 6, answers
    assert site.ldap.process.log_text().count('filter="(uid=anna)"') - asked <= 6


# ---- changes there ---------------------------------------------------------------------------------------------------


def test_removed_there_gone_here(make_world, mariadb, site):
    """Sessions end at the set time, and no new one begins."""
    site.ldap.add_person("gone", "gone's word")
    site.ldap.add_group("leavers", person("gone"))
    world = make_world(mariadb)
    node = world.node(keys={**site.ldap.settings(), "shardwheel.login.mapping": "leavers -> reader",
                            "shardwheel.login.outside-session": "1m"})
    answer = log_in(node, "gone", "gone's word")
    assert who(node, answer).status == 200
    site.ldap.remove(group("leavers"))
    site.ldap.remove(person("gone"))
    assert log_in(node, "gone", "gone's word").status == 401
    assert who(node, answer).status == 200
    world.tables.execute("UPDATE shardwheel_session SET created_ms = created_ms - 60001")
    wait_until(lambda: who(node, answer).status == 401, 10, "the session to end")


def test_groups_taken_away_end_sessions(site):
    site.ldap.add_person("mover", "mover's word")
    site.ldap.add_group("moving", person("mover"), person("anna"))
    site.ldap.change(f"dn: {group('all-staff')}\nchangetype: modify\nadd: member\nmember: {group('moving')}\n")
    answer = site.log_in("mover", "mover's word")
    assert who(site.node, answer).json["role"] == "reader"
    site.ldap.remove(group("moving"))
    assert site.log_in("mover", "mover's word").status == 403
    assert who(site.node, answer).status == 401


def test_another_person_of_the_same_name(site):
    site.ldap.add_person("heir", "first word")
    site.ldap.change(f"dn: {group('ops')}\nchangetype: modify\nadd: member\nmember: {person('heir')}\n")
    assert site.log_in("heir", "first word").status == 200
    site.ldap.remove(person("heir"))
    site.ldap.add_person("heir", "second word")
    answer = site.log_in("heir", "second word")
    assert answer.status == 400 and answer.json["kind"] == "taken", answer


# ---- away ------------------------------------------------------------------------------------------------------------


class Silent:
    """Takes connections and says nothing."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.taken = []
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self):
        try:
            while True:
                self.taken.append(self.socket.accept()[0])
        except OSError:
            pass

    @property
    def url(self):
        return f"ldaps://127.0.0.1:{self.socket.getsockname()[1]}"


def test_a_silent_server_keeps_no_local_user_out(make_world, mariadb):
    """Many more wait for it than there are threads of the console, for longer than the test takes."""
    silent = Silent()
    ldap = LdapServer()
    node = make_world(mariadb).node(keys={**ldap.settings(url=silent.url, timeout="60s"),
                                          "shardwheel.login.mapping": MAPPING, "shardwheel.http.threads": "8"})
    with ThreadPoolExecutor(30) as pool:
        waiting = [pool.submit(log_in, node, f"user{i}", "word", 90) for i in range(30)]
        wait_until(lambda: len(silent.taken) == 8, 20, "the server to be asked")
        wait_until(lambda: sum(w.done() for w in waiting) == 22, 20, "the others to be told")
        assert {w.result().status for w in waiting if w.done()} == {503}
        for _ in range(5):
            answer = log_in(node, "admin", "123456")
            assert who(node, answer).status == 200
        assert sum(w.done() for w in waiting) == 22
        assert node.terminate() == 0  # and a stop does not wait for it
        for w in waiting:
            w.exception(20)
    ldap.destroy()


@pytest.mark.asan
def test_away_and_back(make_world, mariadb):
    ldap = LdapServer().start()
    ldap.add_person("anna", "anna's word")
    ldap.add_group("ops", person("anna"))
    world = make_world(mariadb)
    node = world.node(keys={**ldap.settings(timeout="2s"), "shardwheel.login.mapping": MAPPING})
    assert log_in(node, "anna", "anna's word").status == 200
    ldap.process.pause()
    answer = log_in(node, "anna", "anna's word")
    assert answer.status == 503 and "Retry-After" in answer.headers, answer
    ldap.process.resume()
    ldap.stop()
    for _ in range(12):  # more than wrong passwords are free
        assert log_in(node, "anna", "anna's word").status == 503
    assert log_in(node, "admin", "123456").status == 200
    assert "event=ldap_failed" in node.log_text()
    ldap.start()
    assert log_in(node, "anna", "anna's word").status == 200
    ldap.destroy()


def test_next_server(make_world, mariadb, site):
    silent = Silent()
    node = make_world(mariadb).node(keys={
        **site.ldap.settings(url=f"ldaps://127.0.0.1:1 {silent.url} {site.ldap.tls_url}", timeout="4s"),
        "shardwheel.login.mapping": MAPPING})
    assert log_in(node, "anna", "anna's word").status == 200


# ---- Active Directory ------------------------------------------------------------------------------------------------


def test_active_directory_is_asked_by_its_own_rule(make_world, mariadb):
    """OpenLDAP does not know the rule, and finds nothing by it: but it says what it was asked."""
    ldap = LdapServer(like_ad=True).start()
    ldap.add_person("anna", "anna's word")
    ldap.add_group("ops", person("anna"))
    node = make_world(mariadb).node(keys={**ldap.settings(), "shardwheel.login.mapping": "ops -> admin; * -> reader"})
    assert who(node, log_in(node, "anna", "anna's word")).json["role"] == "reader"
    assert 'filter="(?=undefined)"' in ldap.process.log_text()
    ldap.destroy()


# ---- as Active Directory answers -------------------------------------------------------------------------------------


class Corp:
    """The settings of docs/users.md, and a server that answers them as Active Directory would."""

    ACCOUNT = "shardwheel@corp.example.org"
    BASE = "DC=corp,DC=example,DC=org"
    FILTER = ("(&(sAMAccountName={user})"
              "(!(userAccountControl:1.2.840.113556.1.4.803:=2)))")

    def __init__(self, world):
        self.world = world
        self.directory = FalseDirectory(self.ACCOUNT, "of the account")
        for name, code, control in (("ann", None, 512), ("off", "533", 514), ("old", "532", 512), ("new", "773", 512),
                                    ("late", "701", 512), ("lock", "775", 512), ("eve", None, 66048)):
            self.directory.add(self.dn(name), password=f"{name}'s word", code=code, sAMAccountName=[name.title()],
                               objectGUID=[bytes(range(240, 256))[:15] + name[:1].encode()],
                               userAccountControl=[control])
        self.directory.add(f"CN=desk,OU=Groups,{self.BASE}", cn=["desk"], member=[self.dn("ann")])
        self.directory.add(f"CN=ops,OU=Groups,{self.BASE}", cn=["ops"], member=[f"CN=desk,OU=Groups,{self.BASE}"])
        self.node = world.node(keys=self.keys())

    def dn(self, name):
        return f"CN={name.title()} Person,OU=Staff,{self.BASE}"

    def keys(self, **more):
        return {"shardwheel.ldap.url": self.directory.url, "shardwheel.ldap.starttls": "off",
                "shardwheel.ldap.bind-dn": self.ACCOUNT, "shardwheel.ldap.bind-password": "of the account",
                "shardwheel.ldap.base-dn": self.BASE, "shardwheel.ldap.user-filter": self.FILTER,
                "shardwheel.ldap.name-attribute": "sAMAccountName",
                "shardwheel.login.mapping": f'"CN=ops,OU=Groups,{self.BASE}" -> admin; * -> reader', **more}


@pytest.fixture(scope="module")
def corp(make_module_world, mariadb):
    corp = Corp(make_module_world(mariadb))
    yield corp
    corp.directory.close()


def test_groups_in_groups_of_active_directory(corp):
    said = who(corp.node, log_in(corp.node, "ann", "ann's word")).json
    assert (said["username"], said["role"]) == ("Ann", "admin")
    asked = corp.directory.filters
    assert f"(member:1.2.840.113556.1.4.1941:={corp.dn('ann')})" in asked
    assert "(&(sAMAccountName=ann)(!(userAccountControl:1.2.840.113556.1.4.803:=2)))" in asked
    assert who(corp.node, log_in(corp.node, "EVE", "eve's word")).json["role"] == "reader"
    subject = corp.world.tables.value("SELECT o.subject FROM shardwheel_outside o JOIN xxl_job_user u "
                                      "ON u.id = o.user_id WHERE u.username = 'Ann'")
    assert subject == (bytes(range(240, 255)) + b"a").hex()


@pytest.mark.parametrize("name, code, words", [
    ("off", 401, "no such user"), ("late", 401, "the account has expired"), ("lock", 401, "the account is locked"),
    ("old", 403, "the password has expired"), ("new", 403, "the password must be changed")])
def test_accounts_that_active_directory_refuses(make_world, mariadb, corp, name, code, words):
    node = make_world(mariadb).node(keys=corp.keys())
    wrong = log_in(node, name, "another")
    assert wrong.status == 401, wrong
    right = log_in(node, name, f"{name}'s word")
    assert right.status == code, right
    if code == 401:
        assert right.json == wrong.json  # nobody learns that the password was right
    else:
        assert (right.json["kind"], right.json["field"]) == ("off", "password")
    assert words in node.log_text()
    assert "'s word" not in node.log_text()
    # They count as failures: somebody who guesses gains nothing.
    for _ in range(8):
        last = log_in(node, name, f"{name}'s word")
    assert last.status == 429


def test_a_disabled_account_is_refused_by_its_bind_too(make_world, mariadb, corp):
    node = make_world(mariadb).node(keys=corp.keys(**{"shardwheel.ldap.user-filter": "(sAMAccountName={user})"}))
    assert log_in(node, "off", "off's word").status == 401
    assert "the account is disabled" in node.log_text()


def test_doctor_names_what_active_directory_says_of_the_account(corp):
    found = examine(corp.world, keys={**corp.keys(), "shardwheel.ldap.bind-password": "another"})
    assert "the password is wrong" in found.find("ldap_bind")[0]["what"]
    corp.directory.secrets[corp.ACCOUNT] = ("of the account", "532")
    try:
        assert "the password has expired" in examine(corp.world, keys=corp.keys()).find("ldap_bind")[0]["what"]
    finally:
        corp.directory.secrets[corp.ACCOUNT] = ("of the account", None)


# ---- doctor and settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys, code, words", [
    ({"url": "ldaps://127.0.0.1:1"}, "ldap_unreachable", ["127.0.0.1:1", "refused"]),
    ({"url": "ldaps://no-such-host.invalid"}, "ldap_unreachable", ["no-such-host.invalid"]),
    ({"bind-password": "another"}, "ldap_bind", [ACCOUNT]),
    ({"bind-dn": "cn=nobody"}, "ldap_bind", ["cn=nobody"]),
    ({"base-dn": "dc=nobody"}, "ldap_base", ["dc=nobody"]),
    ({"group-base-dn": "ou=nothing," + BASE}, "ldap_base", ["ou=nothing"]),
    ({"base-dn": "ou=groups," + BASE}, "ldap_nobody", ["none that matches"]),
    ({"user-filter": "(cn2={user})"}, "ldap_nobody", ["(cn2={user})"]),
    ({"user-filter": "(uid={user}"}, "ldap_setting_wrong", ["user-filter"]),
    ({"user-filter": "(&(uid={user})(x))"}, "ldap_filter", []),
    ({"name-attribute": "mail"}, "ldap_error", ["mail"]),
    ({"ca-file": "/nowhere.pem"}, "ldap_tls", ["/nowhere.pem"]),
    ({"url": "ldap.example.org"}, "ldap_setting_wrong", ["shardwheel.ldap.url"]),
    ({"base-dn": ""}, "ldap_setting_wrong", ["base-dn"]),
])
def test_doctor_names_the_mistake(site, keys, code, words):
    settings = {f"shardwheel.ldap.{key}": value for key, value in keys.items()}
    found = examine(site.world, keys={**site.ldap.settings(), "shardwheel.login.mapping": MAPPING, **settings})
    faults = [f for f in found.findings if f["check"] == "ldap"]
    assert [f["code"] for f in faults] == [code], found
    for word in words:
        assert word in faults[0]["what"], faults[0]
    assert "of the account" not in str(found)


def test_doctor_is_content(site):
    found = examine(site.world, "--verbose", keys={**site.ldap.settings(), "shardwheel.login.mapping": MAPPING})
    assert [f["level"] for f in found.findings if f["check"] == "ldap"] == ["ok"], found


def test_doctor_warns_of_plain_text_and_no_rules(site):
    found = examine(site.world, keys={**site.ldap.settings(tls=False, starttls="off")})
    warnings = {f["code"] for f in found.findings if f["level"] == "warning"}
    assert warnings >= {"ldap_plain", "login_mapping_empty"}, found


@pytest.mark.parametrize("ldap, code", [
    (lambda: LdapServer(hosts=("ldap.example.org",)), "ldap_certificate_host"),
    (lambda: LdapServer(days=-1), "ldap_certificate"),
], ids=["another host", "expired"])
@pytest.mark.parametrize("tls", [True, False], ids=["ldaps", "starttls"])
def test_wrong_certificate(make_world, mariadb, ldap, code, tls):
    ldap = ldap().start()
    ldap.add_person("anna", "anna's word")
    world = make_world(mariadb)
    keys = {**ldap.settings(tls=tls), "shardwheel.login.mapping": "* -> admin"}
    node = world.node(keys=keys)
    assert log_in(node, "anna", "anna's word").status == 503
    assert "anna" not in ldap.process.log_text().split(person("anna"))[-1].split("ACCEPT")[-1]
    found = examine(world, keys=keys)
    assert [f["code"] for f in found.findings if f["check"] == "ldap"] == [code], found
    ldap.destroy()


def test_another_authority(site, tmp_path):
    other = Authority(tmp_path, "other")
    found = examine(site.world, keys={**site.ldap.settings(ca_file=other.ca), "shardwheel.login.mapping": MAPPING})
    assert [f["code"] for f in found.findings if f["check"] == "ldap"] == ["ldap_certificate"], found


def test_a_node_does_not_start_with_a_wrong_setting(site):
    keys = {**site.world.keys(), **site.ldap.settings(user_filter="(uid=anna)"), "server.port": "0"}
    done = run_shardwheel(options(keys))
    assert done.returncode != 0 and "shardwheel.ldap.user-filter" in done.stderr
