# SPDX-License-Identifier: MIT
"""Logins by OpenID Connect: with a certified provider, and with one that lies."""
import concurrent.futures
import json
import time
import urllib.parse

import pytest

from harness.certificates import Authority
from harness.doctor import examine
from harness.node import options, run_shardwheel
from harness.oidc import CLIENT, SECRET, Browser, FalseProvider, Key, Provider, encoded, why
from harness.process import free_ports, wait_until

MAPPING = "ops -> admin; pay -> user in pay-*; * -> reader in nothing"


def keys_of(provider, **more):
    return {"shardwheel.oidc.issuer": provider.issuer, "shardwheel.oidc.client-id": CLIENT,
            "shardwheel.oidc.client-secret": SECRET, "shardwheel.oidc.scopes": "openid profile groups",
            "shardwheel.login.mapping": MAPPING, **more}


# ---- a certified provider --------------------------------------------------------------------------------------------


class Site:
    def __init__(self, world, folder):
        self.world = world
        ports = free_ports(2)
        self.urls = [f"http://127.0.0.1:{port}" for port in range(ports, ports + 2)]
        self.key = Key("first")
        self.provider = Provider(folder, [f"{url}/auth/oidc/callback" for url in self.urls],
                                 [f"{url}/login" for url in self.urls])
        self.provider.write_people(ann={"groups": ["ops"]}, bob={"groups": ["pay", "x"]}, eve={"groups": []})
        self.provider.start(self.key)
        self.group = world.tables.add_group("pay-a")
        world.tables.add_group("shop")
        self.nodes = [world.node(f"node-{i}", keys={**keys_of(self.provider), "server.port": ports + i})
                      for i in range(2)]

    @property
    def url(self):
        return self.urls[0]

    def enter(self, name, browser=None):
        browser = browser or Browser()
        page = browser.open(browser.log_in(self.url, self.provider, name))
        assert page.status == 303 and page.location == "../../jobs?x=1", (page.status, page.location, page.text)
        return browser


@pytest.fixture(scope="module")
def site(make_module_world, mariadb, zookeeper, tmp_path_factory):
    site = Site(make_module_world(mariadb, zookeeper=zookeeper), tmp_path_factory.mktemp("provider"))
    yield site
    site.provider.stop()


def test_a_person_comes_in_with_role_and_groups(site):
    ann, bob = site.enter("ann").session(site.url), site.enter("bob").session(site.url)
    assert (ann["username"], ann["role"], ann["source"], ann["by"]) == ("ann", "admin", "oidc", "session")
    assert (bob["role"], bob["groups"]) == ("user", [site.group])
    row = site.world.tables.rows("SELECT password, role, permission FROM xxl_job_user WHERE username = 'bob'")[0]
    assert row["password"].startswith("!") and row["role"] == 0 and row["permission"] == str(site.group)
    actions = site.world.tables.rows("SELECT action, via FROM shardwheel_audit WHERE who = 'bob' ORDER BY id")
    assert [(a["action"], a["via"]) for a in actions] == [("user.add", "oidc"), ("session.begin", "oidc")]


def test_what_the_login_page_asks(site):
    ways = json.loads(Browser().open(f"{site.url}/api/v1/login").text)
    assert ways == {"password": True, "oidc": {"title": None}}


def test_groups_follow_the_provider_and_so_does_the_end(site):
    browser = site.enter("eve")
    assert browser.session(site.url)["role"] == "reader"
    people = site.provider.people
    try:
        site.provider.write_people(**{**people, "eve": {"groups": ["pay"]}})
        assert site.enter("eve").session(site.url)["role"] == "user"
        site.provider.write_people(**{name: who for name, who in people.items() if name != "eve"})
        # Gone there: no login any more. (Sessions that are there end by time: see the unit tests.)
        with pytest.raises(AssertionError):
            site.enter("eve")
    finally:
        site.provider.write_people(**people)


def test_a_login_ends_on_another_node(site):
    browser = Browser()
    target = browser.log_in(site.url, site.provider, "ann")
    # As behind a balancer, which shows one name for both: the code goes to the other node by that name.
    query = urllib.parse.urlsplit(target).query
    answer = site.nodes[1].request("GET", f"/auth/oidc/callback?{query}", headers={
        "Host": urllib.parse.urlsplit(site.url).netloc,
        "Cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in browser.jar)})
    assert answer.status == 303 and answer.headers["Location"] == "../../jobs?x=1", answer


def test_a_code_is_good_once(site):
    browser = Browser()
    target = browser.log_in(site.url, site.provider, "ann")
    cookies = [cookie for cookie in browser.jar if cookie.name.startswith("shardwheel_oidc_")]
    assert browser.open(target).location == "../../jobs?x=1"
    assert why(browser.open(target)) == "state"  # the browser has forgotten what it began
    for cookie in cookies:  # a thief has both, code and cookie
        browser.jar.set_cookie(cookie)
    assert why(browser.open(target)) == "code"


def test_the_state_of_somebody_else_is_refused(site):
    """An attacker sends his own code to a victim, who would work in the attacker's name."""
    attacker, victim = Browser(), Browser()
    target = attacker.log_in(site.url, site.provider, "bob")
    assert why(victim.open(target)) == "state"
    victim.open(f"{site.url}/auth/oidc/login")  # one that he began himself does not help
    assert why(victim.open(target)) == "state"
    assert victim.session(site.url) is None
    own = [cookie for cookie in victim.jar if cookie.name.startswith("shardwheel_oidc_")][0].value.split(".")[0]
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))
    forged = f"{site.url}/auth/oidc/callback?{urllib.parse.urlencode({**query, 'state': own})}"
    assert why(victim.open(forged)) == "code"  # PKCE: the verifier is the victim's, the code the attacker's
    assert victim.session(site.url) is None


@pytest.mark.parametrize("state", ["", "x", "0" * 32, "0" * 31 + "g", "%00", "a" * 5000], ids=range(6))
def test_states_that_nobody_made(site, state):
    assert why(Browser().open(f"{site.url}/auth/oidc/callback?code=x&state={state}")) == "state"


@pytest.mark.parametrize("back", [
    "//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)",
    "/%09/evil.example", "/\n/evil.example", "evil.example", "", "/" + "a" * 5000],
    ids=range(10))
def test_a_login_leads_nowhere_else(site, back):
    browser = Browser()
    page = browser.open(browser.log_in(site.url, site.provider, "ann", back=back))
    target = urllib.parse.urlsplit(urllib.parse.urljoin(page.url, page.location))
    assert f"{target.scheme}://{target.netloc}" == site.url, page.location
    assert page.location in ("../../", "../../%09/evil.example"), page.location


def test_logout_goes_on_to_the_provider(site):
    page = Browser().open(f"{site.url}/auth/oidc/logout")
    target = urllib.parse.urlsplit(page.location)
    assert page.status == 303 and page.location.startswith(f"{site.provider.issuer}/session/end?")
    assert dict(urllib.parse.parse_qsl(target.query)) == {
        "client_id": CLIENT, "post_logout_redirect_uri": f"{site.url}/login"}
    assert "<form" in Browser().open(page.location).text  # it takes both


def test_keys_are_rotated(site):
    site.enter("ann")
    site.provider.stop()
    site.provider.start(Key("second"))

    def comes_in():
        return site.enter("ann").session(site.url)["username"] == "ann"

    wait_until(comes_in, 30, "a token by the new key to be taken")


def test_a_java_admin_lets_nobody_in_by_a_password(site):
    site.enter("bob")
    stored = site.world.tables.value("SELECT password FROM xxl_job_user WHERE username = 'bob'")
    for password in (stored, "", "x"):
        answer = site.nodes[0].post("/api/v1/session", {"username": "bob", "password": password})
        assert answer.status in (400, 401), answer


# ---- a provider whose CA is the company's own ------------------------------------------------------------------------


class SafeSite:
    """One provider with a certificate of its host, one with that of another, and the authorities."""

    def __init__(self, world, folder):
        self.world = world
        self.port = free_ports()
        self.url = f"http://127.0.0.1:{self.port}"
        self.authority, self.stranger = (Authority(folder, name) for name in ("company", "stranger"))
        self.providers = {}
        for name, host in (("own", "127.0.0.1"), ("another", "login.example.com")):
            (folder / name).mkdir()
            provider = Provider(folder / name, [f"{self.url}/auth/oidc/callback"], [f"{self.url}/login"],
                                tls=self.authority.issue(name, host))
            provider.write_people(ann={"groups": ["ops"]})
            self.providers[name] = provider.start(Key("first"))

    def keys(self, provider, ca):
        files = {"company": self.authority.ca, "stranger": self.stranger.ca, "absent": "/nonexistent/ca.pem",
                 "empty": "/dev/null", "none": ""}
        return {**keys_of(self.providers[provider]), "server.port": self.port, "shardwheel.oidc.ca": files[ca]}


@pytest.fixture(scope="module")
def safe(make_module_world, mariadb, tmp_path_factory):
    safe = SafeSite(make_module_world(mariadb), tmp_path_factory.mktemp("safe"))
    yield safe
    for provider in safe.providers.values():
        provider.stop()


def test_a_provider_with_a_ca_of_its_own(safe):
    node = safe.world.node(keys=safe.keys("own", "company"))
    browser = Browser(safe.authority.ca)
    assert browser.open(browser.log_in(node.url, safe.providers["own"], "ann")).location == "../../jobs?x=1"
    assert browser.session(node.url)["role"] == "admin"
    found = examine(safe.world, keys={**safe.world.keys(), **safe.keys("own", "company")})
    assert [f for f in found.findings if f["code"].startswith("oidc") and f["level"] != "ok"] == []
    assert node.terminate() == 0


@pytest.mark.parametrize("provider, ca, words", [
    ("own", "none", "shardwheel.oidc.ca is not set"), ("own", "stranger", "stranger-ca.pem"),
    ("own", "absent", "shardwheel.oidc.ca cannot be used"), ("own", "empty", "shardwheel.oidc.ca"),
    ("another", "company", "127.0.0.1")])
def test_certificates_that_nobody_vouches_for(safe, provider, ca, words):
    """Refused in the login page, in the log and by doctor, before anything secret is sent."""
    keys = safe.keys(provider, ca)
    node = safe.world.node(keys=keys)
    assert why(Browser().open(f"{node.url}/auth/oidc/login")) == "certificate"
    line = [line for line in node.log_text().splitlines() if "event=oidc_login_refused" in line][-1]
    assert "why=certificate" in line and words in line, line
    assert node.post("/api/v1/session", {"username": "admin", "password": "wrong"}).status == 401
    assert node.terminate() == 0
    found = examine(safe.world, keys={**safe.world.keys(), **keys})
    told = found.find("oidc_certificate")
    assert len(told) == 1 and words in told[0]["what"] and not found.find("oidc_away"), found.findings


# ---- a provider that lies --------------------------------------------------------------------------------------------


class Lies:
    def __init__(self, world):
        self.world = world
        self.provider = FalseProvider()
        self.node = world.node(keys=keys_of(self.provider))

    def begin(self, browser, back="/"):
        """What the provider is asked."""
        begun = browser.open(f"{self.node.url}/auth/oidc/login?return={back}")
        assert begun.status == 303, begun.text
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(begun.location).query))
        assert asked["code_challenge_method"] == "S256" and asked["nonce"] and asked["state"]
        return asked

    def come_back(self, browser=None, asked=None, **query):
        """The end of a login, with what the provider says."""
        browser = browser or Browser()
        asked = asked or self.begin(browser)
        self.provider.authorize["c1"] = asked
        words = urllib.parse.urlencode({"code": "c1", "state": asked["state"], **query})
        return browser.open(f"{self.node.url}/auth/oidc/callback?{words}")


@pytest.fixture(scope="module")
def lies(make_module_world, mariadb):
    lies = Lies(make_module_world(mariadb))
    yield lies
    lies.provider.close()


def test_a_console_that_is_told_its_own_address(make_world, mariadb, lies):
    lies.provider.discovery = {"end_session_endpoint": f"{lies.provider.issuer}/end"}
    node = make_world(mariadb).node(keys=keys_of(lies.provider, **{
        "shardwheel.oidc.redirect-uri": "https://jobs.example.com/x/auth/oidc/callback"}))
    pages = [Browser().open(f"{node.url}/auth/oidc/{page}").location for page in ("login", "logout")]
    lies.provider.discovery = {}
    login, logout = (dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page).query)) for page in pages)
    assert login["redirect_uri"] == "https://jobs.example.com/x/auth/oidc/callback"
    assert logout["post_logout_redirect_uri"] == "https://jobs.example.com/x/login"


def test_what_is_right_comes_in(lies):
    lies.provider.make_token = lambda nonce: lies.provider.key.sign(lies.provider.claims(nonce))
    browser = Browser()
    assert lies.come_back(browser).location == "../../"
    assert browser.session(lies.node.url)["username"] == "mallory"


def begun_by(browser):
    return [cookie for cookie in browser.jar if cookie.name.startswith("shardwheel_oidc_")]


def sent_by(browser):
    return sum(len(cookie.name) + len(cookie.value) + 3 for cookie in begun_by(browser))


def test_logins_in_several_tabs_all_end(lies):
    lies.provider.make_token = lambda nonce: lies.provider.key.sign(lies.provider.claims(nonce))
    browser = Browser()
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        tabs = list(pool.map(lambda i: lies.begin(browser, f"/jobs?x={i}"), range(5)))
    assert len(begun_by(browser)) == 5
    for i in (3, 0, 4, 1, 2):
        assert lies.come_back(browser, tabs[i]).location == f"../../jobs?x={i}"
    assert not begun_by(browser) and browser.session(lies.node.url)["username"] == "mallory"


@pytest.mark.parametrize("back, kept", [("/jobs", 5), ("/" + "a" * 999, 1), ("/" + "a" * 350, 4)], ids=range(3))
def test_logins_that_another_site_begins_do_not_pile_up(lies, back, kept):
    """What a browser sends stays far below the 8 KB that nginx takes; the last ones still end."""
    lies.provider.make_token = lambda nonce: lies.provider.key.sign(lies.provider.claims(nonce))
    browser = Browser()
    tabs = []
    for _ in range(20):
        tabs.append(lies.begin(browser, back))
        assert len(begun_by(browser)) <= 5 and sent_by(browser) < 4100
    assert len(begun_by(browser)) == kept
    assert why(lies.come_back(browser, tabs[-kept - 1])) == "state"
    for asked in tabs[-kept:]:
        assert lies.come_back(browser, asked).location == f"../..{back}"
    # Cookies of others stay, and so does what only looks like one.
    cookies = "; ".join(["xxl_job_login_token=x", *(f"shardwheel_oidc_{i:08x}=" + "b" * 900 for i in range(40)),
                         "shardwheel_oidc_0000000g=y", "shardwheel_oidc_=z", "shardwheel_oidc_00000001", "other=1;;"])
    answer = lies.node.request("GET", "/auth/oidc/login", headers={"Cookie": cookies})
    gone = [line for line in answer.headers.get_all("Set-Cookie") if "=; Max-Age=0" in line]
    assert [line.split("=")[0] for line in gone] == [f"shardwheel_oidc_{i:08x}" for i in range(16)]


FORGED = {
    "wrong issuer": lambda p, n: p.key.sign(p.claims(n, iss="https://evil.example")),
    "issuer with a slash": lambda p, n: p.key.sign(p.claims(n, iss=p.issuer + "/")),
    "wrong audience": lambda p, n: p.key.sign(p.claims(n, aud="another")),
    "several audiences": lambda p, n: p.key.sign(p.claims(n, aud=["another", CLIENT])),
    "asked for by another": lambda p, n: p.key.sign(p.claims(n, azp="another")),
    "no nonce": lambda p, n: p.key.sign(p.claims(n, nonce=None)),
    "nonce of another login": lambda p, n: p.key.sign(p.claims("0" * 32)),
    "expired": lambda p, n: p.key.sign(p.claims(n, exp=int(time.time()) - 120)),
    "of the future": lambda p, n: p.key.sign(p.claims(n, iat=int(time.time()) + 3600)),
    "no end": lambda p, n: p.key.sign(p.claims(n, exp=None)),
    "nobody": lambda p, n: p.key.sign(p.claims(n, sub=None)),
    "none": lambda p, n: f"{encoded({'alg': 'none'})}.{encoded(p.claims(n))}.",
    "none, signed": lambda p, n: f"{encoded({'alg': 'none'})}.{encoded(p.claims(n))}.{encoded(b'x')}",
    "no signature": lambda p, n: p.key.sign(p.claims(n)).rsplit(".", 1)[0] + ".",
    "HS256 by the public key": lambda p, n: p.sign_by_public_key(p.claims(n)),
    "another key of that name": lambda p, n: Key("k1").sign(p.claims(n)),
    "a key that it brings": lambda p, n: (lambda k: k.sign(p.claims(n), jwk=k.public()))(Key("own")),
    "other claims under it": lambda p, n: (lambda t: f"{t[0]}.{encoded(p.claims(n, sub='1'))}.{t[2]}")(
        p.key.sign(p.claims(n)).split(".")),
    "no token": lambda p, n: "",
}


@pytest.mark.parametrize("name", FORGED)
def test_tokens_that_are_not_good(lies, name):
    lies.provider.make_token = lambda nonce: FORGED[name](lies.provider, nonce)
    browser = Browser()
    assert why(lies.come_back(browser)) == "token", lies.node.tail(5)
    assert browser.session(lies.node.url) is None


def test_answers_that_are_not_good(lies):
    lies.provider.make_token = lambda nonce: lies.provider.key.sign(lies.provider.claims(nonce))
    assert why(lies.come_back(iss="https://evil.example")) == "token"  # mixed up with another provider
    assert why(lies.come_back(error="access_denied")) == "denied"
    assert why(lies.come_back(code="")) == "code"
    assert why(lies.come_back(code="unknown")) == "code"
    assert lies.come_back(iss=lies.provider.issuer).location == "../../"


def test_names_that_are_taken_or_none(lies):
    for claims, reason in (({"preferred_username": "admin"}, "taken"), ({"preferred_username": "<b>"}, "name"),
                           ({"preferred_username": None}, "name"), ({"preferred_username": "x" * 60}, "name")):
        lies.provider.make_token = lambda nonce: lies.provider.key.sign(
            lies.provider.claims(nonce, sub="other", **claims))
        assert why(lies.come_back()) == reason, claims


def test_a_key_that_was_swapped_is_refused_until_the_provider_has_it(lies):
    swapped = Key("k2")
    lies.provider.make_token = lambda nonce: swapped.sign(lies.provider.claims(nonce))
    assert why(lies.come_back()) == "token"
    lies.provider.keys = [lies.provider.key, swapped]
    try:
        wait_until(lambda: lies.come_back().location == "../../", 30, "the newer key to be fetched")
    finally:
        lies.provider.keys = [lies.provider.key]


def test_client_id_and_secret_are_sent_as_the_standard_says(lies):
    import base64
    sent = base64.b64decode(lies.provider.authorizations[-1].split()[1]).decode()
    assert sent == f"{CLIENT}:{urllib.parse.quote(SECRET, safe='-._~')}"


def test_a_provider_that_hangs_holds_up_nobody(lies):
    """With more logins than there are workers: the console answers, and local logins work."""
    lies.provider.make_token = lambda nonce: lies.provider.key.sign(lies.provider.claims(nonce))
    browsers = []
    for _ in range(12):
        browser = Browser()
        begun = browser.open(f"{lies.node.url}/auth/oidc/login")
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(begun.location).query))
        browsers.append((browser, f"{lies.node.url}/auth/oidc/callback?code=c&state={asked['state']}"))
    before = len(lies.provider.asked)
    lies.provider.hangs.set()
    with concurrent.futures.ThreadPoolExecutor(len(browsers)) as pool:
        waiting = [pool.submit(browser.open, url) for browser, url in browsers]
        wait_until(lambda: len(lies.provider.asked) > before, 20, "a login to wait")
        for _ in range(30):
            assert lies.node.get("/api/v1/login").status == 200
        assert lies.node.post("/api/v1/session", {"username": "admin", "password": "wrong"}).status == 401
        assert not all(future.done() for future in waiting)
        lies.provider.hangs.clear()
        lies.provider.goes_on.set()
        for future in waiting:
            assert why(future.result()) in ("code", "away")


def test_a_provider_that_is_away(make_world, mariadb):
    """The node starts, and says so on the login page; others log in as ever."""
    provider = FalseProvider()
    provider.close()
    node = make_world(mariadb).node(keys=keys_of(provider))
    assert why(Browser().open(f"{node.url}/auth/oidc/login")) == "away"
    assert "does not answer" in node.log_text()
    assert node.post("/api/v1/session", {"username": "admin", "password": "wrong"}).status == 401


@pytest.mark.parametrize("more, words", [
    ({"shardwheel.oidc.issuer": "http://login.example.com"}, "must begin with https://"),
    ({"shardwheel.oidc.client-id": ""}, "shardwheel.oidc.client-id must be given"),
    ({"shardwheel.oidc.redirect-uri": "https://jobs.example.com/login"}, "shardwheel.oidc.redirect-uri"),
    ({"shardwheel.login.mapping": "ops -> root"}, "expected admin, user, runner or reader"),
])
def test_settings_that_cannot_work_are_told_at_the_start(lies, more, words):
    done = run_shardwheel(options({**lies.world.keys(), **keys_of(lies.provider), "server.port": free_ports(), **more}))
    assert done.returncode == 1 and words in done.stderr, done.stderr


# ---- doctor ----------------------------------------------------------------------------------------------------------


def told(lies, **more):
    found = examine(lies.world, keys={**lies.world.keys(), **keys_of(lies.provider), **more})
    return {finding["code"]: finding["what"] for finding in found.findings
            if finding["code"].startswith(("oidc", "login_mapping")) and finding["level"] != "ok"}


def test_doctor_finds_nothing_where_all_is_well(lies, site):
    assert told(lies) == {}
    found = examine(site.world, keys={**site.world.keys(), **keys_of(site.provider)})
    assert not found.find("oidc_client") and not found.find("oidc_away") and not found.find("oidc_clock")


def test_doctor_names_what_is_wrong(lies, site):
    provider = lies.provider
    assert "must begin with https" in told(lies, **{"shardwheel.oidc.issuer": "http://example.com"})["oidc_unusable"]
    assert list(told(lies, **{"shardwheel.login.mapping": ""})) == ["login_mapping_empty"]
    assert "rule 1" in told(lies, **{"shardwheel.login.mapping": "ops"})["login_mapping_wrong"]
    away = FalseProvider()
    away.close()
    assert "does not answer" in told(lies, **{"shardwheel.oidc.issuer": away.issuer})["oidc_away"]
    # The same provider by another name, as with a slash at the end.
    assert f'"{provider.issuer}"' in told(lies, **{"shardwheel.oidc.issuer": provider.issuer + "/"})["oidc_issuer"]
    found = examine(site.world, keys={**site.world.keys(), **keys_of(site.provider),
                                      "shardwheel.oidc.client-secret": "wrong"})
    assert "invalid_client" in found.find("oidc_client")[0]["what"]
    for change, code, words in (
            ({"discovery": {"token_endpoint": "http://example.com/token"}}, "oidc_endpoints", "token_endpoint"),
            ({"discovery": {"jwks_uri": None}}, "oidc_endpoints", "jwks_uri"),
            ({"keys": [{"kty": "oct", "k": "AA"}]}, "oidc_keys", "has no key that can sign"),
            ({"offset_s": 300}, "oidc_clock", "ahead of"), ({"offset_s": -300}, "oidc_clock", "behind")):
        before = {name: getattr(provider, name) for name in change}
        try:
            for name, value in change.items():
                setattr(provider, name, value)
            assert words in told(lies).get(code, ""), (code, told(lies))
        finally:
            for name, value in before.items():
                setattr(provider, name, value)
