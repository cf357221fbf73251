# SPDX-License-Identifier: MIT
"""OpenID providers: a certified one, a false one that signs whatever it is told, and a browser that has cookies."""
import base64
import hashlib
import hmac
import html
import http.cookiejar
import http.server
import json
import os
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from .builds import oidc_provider
from .process import Process, free_ports, wait_until

SECRET = "a secret: of 32 characters, & more%"
CLIENT = "shardwheel"


def encoded(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    """An RSA key by its name."""

    def __init__(self, kid):
        self.kid = kid
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def _number(self, value):
        return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))

    def public(self):
        numbers = self.private.public_key().public_numbers()
        return {"kty": "RSA", "kid": self.kid, "use": "sig", "alg": "RS256", "n": self._number(numbers.n),
                "e": self._number(numbers.e)}

    def jwk(self):
        """With its secret numbers."""
        numbers = self.private.private_numbers()
        names = {"d": numbers.d, "p": numbers.p, "q": numbers.q, "dp": numbers.dmp1, "dq": numbers.dmq1,
                 "qi": numbers.iqmp}
        return {**self.public(), **{name: self._number(value) for name, value in names.items()}}

    def pem(self):
        return self.private.public_key().public_bytes(serialization.Encoding.PEM,
                                                      serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, claims, **header):
        text = f"{encoded({'alg': 'RS256', 'kid': self.kid, **header})}.{encoded(claims)}"
        return f"{text}.{encoded(self.private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


# ---- the certified one -----------------------------------------------------------------------------------------------


class Provider:
    """`tls`: PEM file with its certificate and key."""

    def __init__(self, folder, redirects, after_logout, **more):
        self.folder = str(folder)
        self.port = free_ports()
        self.issuer = f"http{'s' if more.get('tls') else ''}://127.0.0.1:{self.port}"
        self.people_path = os.path.join(self.folder, "people.json")
        self.options = {"issuer": self.issuer, "port": self.port, "secret": SECRET, "redirects": redirects,
                        "afterLogout": after_logout, "people": self.people_path, **more}
        self.people = {}
        self.write_people()
        self.process = None
        self.starts = 0

    def write_people(self, **people):
        self.people = people
        with open(self.people_path, "w", encoding="utf-8") as file:
            json.dump(people, file)

    def start(self, *keys):
        path = os.path.join(self.folder, "provider.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.options, "keys": [key.jwk() for key in keys]}, file)
        self.starts += 1
        self.process = Process(f"provider-{self.starts}", ["node", oidc_provider(), path],
                               os.path.join(self.folder, f"provider-{self.starts}.log"))
        self.process.start()
        trusting = ssl._create_unverified_context()
        wait_until(lambda: urllib.request.urlopen(f"{self.issuer}/jwks", timeout=5, context=trusting).status == 200, 60,
                   "the provider to answer")
        return self

    def stop(self):
        self.process.kill()


# ---- the false one ---------------------------------------------------------------------------------------------------


class FalseProvider:
    """Says and signs what the test puts into it. `make_token`: what its token page gives, of the nonce."""

    def __init__(self):
        self.key = Key("k1")
        self.keys = [self.key]
        self.issuer = None
        self.discovery = {}
        self.make_token = None
        self.authorize = {}  # by code: the query with which the browser came
        self.asked = []  # paths
        self.authorizations = []  # of the token page
        self.offset_s = 0  # of its clock
        self.hangs = threading.Event()
        self.goes_on = threading.Event()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def date_time_string(self, timestamp=None):
                return super().date_time_string(time.time() + provider.offset_s)

            def do_GET(self):
                provider._answer(self, None)

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                provider._answer(self, dict(urllib.parse.parse_qsl(self.rfile.read(length).decode())))

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.goes_on.set()
        self.server.shutdown()
        self.server.server_close()

    def claims(self, of, **more):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "7", "nonce": of, "iat": now, "exp": now + 300,
                  "preferred_username": "mallory", "groups": ["ops"], **more}
        return {name: value for name, value in claims.items() if value is not None}

    def _answer(self, handler, form):
        path = urllib.parse.urlsplit(handler.path)
        self.asked.append(path.path)
        if self.hangs.is_set():
            self.goes_on.wait(60)
        if path.path == "/.well-known/openid-configuration":
            answer = {"issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/auth",
                      "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/jwks", **self.discovery}
            self._send(handler, 200, answer)
        elif path.path == "/jwks":
            self._send(handler, 200, {"keys": [key if isinstance(key, dict) else key.public() for key in self.keys]})
        elif path.path == "/token":
            self.authorizations.append(handler.headers.get("Authorization"))
            query = self.authorize.pop(form.get("code"), None)
            if query is None:
                self._send(handler, 400, {"error": "invalid_grant"})
                return
            challenge = encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
            assert challenge == query["code_challenge"], "PKCE"
            self._send(handler, 200, {"access_token": "a", "token_type": "Bearer",
                                      "id_token": self.make_token(query["nonce"])})
        else:
            self._send(handler, 404, {"error": "not_found"})

    @staticmethod
    def _send(handler, status, answer):
        body = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def sign_by_public_key(self, claims):
        """HS256, with what everybody knows as the secret."""
        text = f"{encoded({'alg': 'HS256', 'kid': 'k1'})}.{encoded(claims)}"
        return f"{text}.{encoded(hmac.new(self.key.pem(), text.encode(), hashlib.sha256).digest())}"


# ---- the browser -----------------------------------------------------------------------------------------------------


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Page:
    def __init__(self, answer, url):
        self.status = answer.status if hasattr(answer, "status") else answer.code
        self.url = url
        self.location = answer.headers.get("Location")
        self.headers = answer.headers
        self.text = answer.read().decode(errors="replace")


class Browser:
    """Cookies, and one step at a time. A node and a provider on one host are told apart by nothing but their ports,
    which cookies do not see; their names differ."""

    def __init__(self, ca=None):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.jar), _Stay,
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca)))

    def open(self, url, form=None):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        try:
            return Page(self.opener.open(urllib.request.Request(url, data), timeout=30), url)
        except urllib.error.HTTPError as answer:
            return Page(answer, url)

    def follow(self, page, until):
        """Redirects, up to one whose address begins so; that address, which is not opened."""
        for _ in range(10):
            if page.location is None:
                return page, None
            target = urllib.parse.urljoin(page.url, page.location)
            if target.startswith(until):
                return page, target
            page = self.open(target)
        raise AssertionError("too many redirects")

    def log_in(self, node_url, provider, name, back="/jobs?x=1"):
        """Through the pages of the certified provider. The address with the code, which was not opened yet."""
        begun = self.open(f"{node_url}/auth/oidc/login?return={urllib.parse.quote(back)}")
        assert begun.status == 303 and begun.location.startswith(provider.issuer), (begun.status, begun.text)
        callback = f"{node_url}/auth/oidc/callback"
        page, target = self.follow(begun, callback)
        for _ in range(3):
            if target:
                return target
            assert "<form" in page.text, page.text[:500]
            action = html.unescape(re.search(r'action="([^"]+)"', page.text).group(1))
            prompt = re.search(r'name="prompt" value="([^"]+)"', page.text).group(1)
            form = {"prompt": prompt, **({"login": name, "password": "x"} if prompt == "login" else {})}
            page, target = self.follow(self.open(urllib.parse.urljoin(page.url, action), form), callback)
        assert target, page.text[:500]
        return target

    def session(self, node_url):
        """Who is logged in; None: nobody."""
        page = self.open(f"{node_url}/api/v1/session")
        return json.loads(page.text) if page.status == 200 else None


def why(page):
    """Of a page that leads to the login page."""
    assert page.status == 303, (page.status, page.text)
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page.location).query)).get("refused")
