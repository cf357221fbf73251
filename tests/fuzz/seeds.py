#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes inputs of a fuzz target into a folder: of http_handlers the requests of tests/vectors and of the OpenAPI
document, of coord the ways that a session with ZooKeeper takes, of oidc_answers and directory_answers what
providers of logins answer, of mapping rules and groups, of alarm_documents rules and channels.

usage: tests/fuzz/seeds.py TARGET FOLDER
then   build/asan/TARGET_fuzz -merge=1 tests/fuzz/corpus/TARGET FOLDER

The first eight bytes of an input of http_handlers: see tests/fuzz/http_world.h."""

import base64
import hashlib
import json
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VECTORS = ROOT / "tests" / "vectors"
WHO = {"nobody": 0, "read": 1, "run": 2, "user": 3, "none": 4, "admin": 5, "token": 6, "all": 7, "unsure": 8, "real": 9}
SECRET = "0123456789abcdef0123456789abcdef"
ROW = json.dumps({"id": 1, "username": "admin", "password": SECRET, "role": 1, "permission": ""}).encode().hex()
TOKEN = base64.urlsafe_b64encode(
    json.dumps({"userId": "1", "expireTime": 0, "signature": SECRET}).encode()).decode().rstrip("=")
COOKIE = f"Cookie: xxl_job_login_token={TOKEN}; XXL_JOB_LOGIN_IDENTITY={ROW}\r\n"
BEARER = "Authorization: Bearer swt_0123456789abcdef0123456789abcdef0123456789abcdef\r\n"
JOB = {"jobGroup": "1", "jobDesc": "seed", "author": "me", "scheduleType": "CRON", "scheduleConf": "0 0 0 1 1 ? 2099",
       "misfireStrategy": "DO_NOTHING", "executorRouteStrategy": "FIRST", "executorHandler": "demoJobHandler",
       "executorBlockStrategy": "SERIAL_EXECUTION", "executorTimeout": "0", "executorFailRetryCount": "0",
       "glueType": "BEAN", "childJobId": "", "alarmEmail": "", "executorParam": ""}


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def add(self, who, server, method, target, headers="", body=b""):
        """With one row for each statement, as it should be; every other one with more rows."""
        self.count += 1
        world = bytes([WHO[who] * 8 + server, 1 + self.count % 2, 0, 0]) + self.count.to_bytes(4, "little")
        length = f"Content-Length: {len(body)}\r\n" if body or method not in ("GET", "HEAD") else ""
        text = f"{method} {target} HTTP/1.1\r\nHost: x\r\n{headers}{length}\r\n".encode() + body
        name = hashlib.sha1(world + text).hexdigest()
        (self.path / name).write_bytes(world + text)


def plain(value):
    """A value of the vectors, with what they take from the database as a number."""
    text = "" if value is None else str(value)
    return "".join("1" if part.startswith("$") else part for part in text.replace("$", " $").split(" ")) \
        if "$" in text else text


def rename(key, server):
    """The parameter as the newer or the older dialects name it."""
    if server >= 2:
        return {"from": "offset", "count": "pagesize", "one": "ids[]"}.get(key, key)
    return {"from": "start", "count": "length", "one": "id"}.get(key, key)


def walk(steps):
    for step in steps:
        if "steps" in step:
            for inner in step["steps"]:
                form = step.get("form") or {}
                form = JOB if isinstance(form, str) else form
                yield {**step, "form": {**form, **inner.get("set", {})}}
        yield step


def console(folder):
    calls = json.loads((VECTORS / "console" / "calls.json").read_text())
    for path in sorted((VECTORS / "console").glob("*.json")):
        steps = json.loads(path.read_text())
        for step in walk(steps) if isinstance(steps, list) else []:
            form = step.get("form", {})
            if not isinstance(step, dict) or not isinstance(form, (dict, str)):
                continue
            form = JOB if isinstance(form, str) else {**(JOB if "..." in form else {}), **form}
            form = {key: plain(value) for key, value in form.items() if key != "..." and not isinstance(value, list)}
            paths = calls.get(step.get("call")) or [step.get("path")] * 4
            method = step.get("method", "POST")
            for server, target in enumerate(paths):
                if not isinstance(target, str) or not target.startswith("/"):
                    continue
                prefix = "/xxl-job-admin" if server < 2 else ""
                named = {rename(key, server): value for key, value in form.items()}
                body = urllib.parse.urlencode(named).encode()
                send_api(folder, step, target) if target.startswith("/api/") else \
                    folder.add("admin" if folder.count % 3 else "user", server, method, plain(prefix + target),
                               COOKIE + "Content-Type: application/x-www-form-urlencoded\r\n", body)


def send_api(folder, step, target):
    body = json.dumps(step["json"]).encode() if "json" in step else str(step.get("body", "")).encode()
    headers = "Content-Type: application/json\r\nXXL-JOB-ACCESS-TOKEN: own-token\r\nXXL-JOB-APPNAME: own\r\n"
    for server in (1, 2):
        folder.add("nobody", server, step.get("method", "POST"), target, headers, body)


def executors(folder):
    beat = {"registryGroup": "EXECUTOR", "registryKey": "app", "registryValue": "http://10.0.0.5:9999/"}
    end = [{"logId": 1, "logDateTim": 1, "handleCode": 200, "handleMsg": "done"}]
    for token, server in (("", 0), ("XXL-JOB-ACCESS-TOKEN: default_token\r\n", 3)):
        for name, body in (("registry", beat), ("registryRemove", beat), ("callback", end),
                           ("callback", {"callbackList": end}), ("nosuch", {})):
            folder.add("nobody", server, "POST", f"/api/{name}", token, json.dumps(body).encode())
    for target in ("/", "/jobs", "/jobs/7", "/assets/a-12345678.js", "/metrics", "/health", "/actuator/health",
                   "/api/v1/openapi.json", "/xxl-job-admin", "/login", "/toLogin", "/nosuch", "/favicon.ico"):
        for method in ("GET", "HEAD", "OPTIONS", "POST"):
            folder.add("nobody", folder.count % 4, method, target, "Accept-Encoding: gzip\r\n")


def example(schema, parts, depth=0):
    """A value that fits a schema of the document."""
    schema = parts.get(schema["$ref"].rsplit("/", 1)[1], {}) if "$ref" in schema else schema
    for many in ("oneOf", "anyOf", "allOf"):
        if many in schema:
            return example(schema[many][0], parts, depth + 1)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" and depth < 6:
        return {name: example(inner, parts, depth + 1) for name, inner in schema.get("properties", {}).items()}
    if kind == "array" and depth < 6:
        return [example(schema.get("items", {}), parts, depth + 1)]
    return {"integer": 1, "number": 1, "boolean": True, "string": "text", "object": {}, "array": []}.get(kind)


def v1(folder):
    pieces = [json.loads(path.read_text()) for path in sorted((ROOT / "src/http/v1/openapi").glob("*.json"))]
    parts = {}
    for piece in pieces:
        parts.update(piece.get("schemas", piece.get("components", {}).get("schemas", {})))
    for path, methods in ((p, m) for piece in pieces for p, m in piece.get("paths", {}).items()):
        target = path
        while "{" in target:
            target = target[:target.index("{")] + "1" + target[target.index("}") + 1:]
        for method, operation in methods.items():
            if method == "parameters":
                continue
            known = [p for p in operation.get("parameters", []) if p.get("in") == "query"]
            queries = [""] + [f"?{p['name']}={example(p.get('schema', {}), parts)}" for p in known]
            content = operation.get("requestBody", {}).get("content", {})
            bodies = [json.dumps(example(c.get("schema", {}), parts)).encode() for c in content.values()] or [b""]
            for i, query in enumerate(queries):
                for who in ("admin", "user", "read", "nobody") if not i else ("admin",):
                    headers = (BEARER if folder.count % 2 else COOKIE) + "Content-Type: application/json\r\n"
                    folder.add(who, 2 + folder.count % 2, method.upper(), target + query, headers, bodies[0])
    for call in json.loads((VECTORS / "v1" / "calls.json").read_text())["calls"]:
        method, target = call["call"].split(" ", 1)
        for key, value in call.get("path", {}).items():
            target = target.replace("{" + key + "}", str(value))
        body = json.dumps(call["body"]).encode() if "body" in call else b""
        query = "?" + urllib.parse.urlencode(call["query"]) if isinstance(call.get("query"), dict) else ""
        folder.add("admin", folder.count % 4, method, target + query,
                   BEARER + "Content-Type: application/json\r\n", body)


def http_handlers(path):
    folder = Folder(path)
    console(folder)
    executors(folder)
    v1(folder)
    return folder.count


def write(path, inputs):
    folder = pathlib.Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    return len(inputs)


def coord(path):
    """Bytes as coord_fuzz.c and strange_zoo.h draw them."""
    zoo = lambda *draws: bytes([5, *draws])
    wait = lambda i: bytes([0, i])
    answer, connect = zoo(9, 31), zoo(3, 0)
    name = lambda kind, *more: bytes([kind, *more])
    # Makes a znode: folder, name, data, no data at all, persistent.
    stranger = lambda folder, named, data=b"\0\1\1\x0f": zoo(0, 0, folder) + named + data + b"\0\0"
    join = connect + (answer + wait(1)) * 6 + wait(3) + answer * 3
    turns = [answer + wait(i) for i in (1, 2, 3, 5, 6)]
    oddities = [zoo(3, i) for i in range(1, 6)] + [zoo(5, i) for i in range(18)] + [zoo(6)] * 4
    oddities += [zoo(7, *draws) for draws in ((0, 0, 1), (1, 2, 3, 4, 5), (1, 7, 0, 2, 8, 0, 3, 9), (0, 0, 15))]
    oddities += [zoo(4, 1, 3, i, 1) for i in range(12)] + [zoo(1, 1), zoo(2, 1), zoo(0, 2, 3), zoo(0, 4, 5, 1)]
    oddities += [stranger(folder, named) for folder in range(6) for named in
                 (name(0, 1), name(0, 3), name(0, 7), name(1, 0), name(1, 8), name(2, 5), name(2, 1), name(3, 10),
                  name(4, 30))]
    inputs = []
    for i, odd in enumerate(oddities):
        for way in (0, 4):
            asking = [bytes([1, 1, 1, 1]), bytes([2, 1]), bytes([3, i % 3]), bytes([4, 3]), bytes([4, 0, 1])]
            if way:
                asking = [bytes([3]), bytes([1, i % 3, 0, 0, 0, 0, i % 8, i % 4, 1]), bytes([2, 3]), bytes([4])]
            begin = bytes([way, 3 + i % 3, i % 2]) if way == 0 else bytes([way, 0]) + bytes([0, 0, 0, 1, 0, 1]) * 2
            steps = (asking[i % len(asking)] + turns[i % len(turns)] + (bytes([3]) if way else b"")) * 4
            inputs.append(begin + join + (bytes([3]) + answer if way else b"") * 8 + odd + steps)
            inputs.append(begin + connect + odd + (odd + answer + steps) * 3)
        inputs.append(bytes([7, 1, 2]) + bytes([1]) + odd[1:] + bytes([8, 3, 0, 8, 8, 9, 3]) * 4)
    inputs.append(bytes([7, 0]) + bytes([30]) + b"zk1,zk2:2181,[::1]:99/some/path")
    return write(path, inputs)


# ---- oidc_answers ----------------------------------------------------------------------------------------------------


def oidc_answers(path):
    """The bytes 1 to 7 are words of tests/fuzz/oidc_answers_fuzz.c."""
    issuer, client, nonce, now, later, keys, kid = (chr(i) for i in range(1, 8))

    def json_of(value):
        return json.dumps(value).replace('"@now"', now).replace('"@later"', later)

    places = {"issuer": issuer, "authorization_endpoint": "https://p/a?x=1", "token_endpoint": "https://p/t",
              "jwks_uri": "https://p/k", "userinfo_endpoint": "https://p/u", "end_session_endpoint": "https://p/e",
              "token_endpoint_auth_methods_supported": ["client_secret_post"]}
    claims = {"iss": issuer, "aud": client, "sub": "7", "nonce": nonce, "iat": "@now", "exp": "@later",
              "preferred_username": "ann", "groups": ["ops", "pay"]}
    bare = {name: claims[name] for name in ("iss", "aud", "sub", "nonce", "iat", "exp")}
    more = {"sub": "7", "email": "a@b", "realm_access": {"roles": ["x"]}, "groups": "one"}
    usual = [json_of(places), f'{{"keys":[{keys}]}}', "", json_of({"alg": "ES256", "kid": kid}), json_of(claims),
             json_of(more), "", ""]
    inputs = []

    def add(changed=None, head=bytes(8)):
        texts = [(changed or {}).get(i, text) for i, text in enumerate(usual)]
        inputs.append(head + re.sub(r"\\u000([1-7])", lambda m: chr(int(m[1])), "\0".join(texts)).encode())

    for signer in range(6):
        add(head=bytes([0, 0, 0, 0, 12, signer, 0, 0]))
    for flags in (1, 2, 4, 8):
        add(head=bytes([0, 0, 0, 0, flags, 0, 0, 0]))
    for page in range(4):
        for status in (31, 95, 128, 160, 224):
            add(head=bytes(status if i == page else 0 for i in range(8)))
    for name in claims:
        add({4: json_of({key: value for key, value in claims.items() if key != name})})
        for value in (7, "x", None, ["x", client], [client], {"a": [client]}, 1.5, "\ud800"):
            add({4: json_of({**claims, name: value})})
    for name in places:
        for value in (None, "http://p/x", "https://p\n/x", "http://127.0.0.1/x", "x" * 1100, 3):
            add({0: json_of({**places, name: value})})
    add({4: json_of(bare)})
    add({4: json_of(bare), 5: json_of({**more, "sub": "8"})})
    add({4: json_of({**bare, "azp": client, "aud": [client, "x"], "nbf": "@later"})})
    add({4: json_of({**claims, "groups": [str(i) for i in range(60)], "realm_access.roles": ["y"]})})
    for header in ({"alg": "none"}, {"alg": "HS256", "kid": kid}, {"alg": "ES256"}, {"alg": "ES256", "kid": "k2"},
                   {"alg": "ES256", "crit": ["x"], "x": 1}, {"alg": "RS256", "jwk": {}}, {}, []):
        for signer in range(5):
            add({3: json_of(header)}, bytes([0, 0, 0, 0, 0, signer, 0, 0]))
    for text in ("", "{}", '{"keys":[]}', f'{{"keys":[7,{{}},{keys},{keys}]}}', f'{{"keys":{keys}}}',
                 '{"keys":[{"kty":"oct","k":"AAAA"},{"kty":"RSA","n":"AQAB","e":"AQAB"},'
                 '{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}'):
        add({1: text})
    for text in ('{"error":"invalid_grant","error_description":"x"}', '{"id_token":7}',
                 '{"id_token":"a.b.c"}', "[]", "{"):
        add({2: text})
        add({2: text}, bytes([0, 0, 128, 0, 0, 0, 0, 0]))
    for text in ("", "[]", "{", '{"sub":7}', '{"sub":"7","preferred_username":"","groups":[1,"",null]}'):
        add({4: json_of(bare), 5: text})
    add({6: issuer})
    add({6: "https://evil"})
    add({7: "access_denied"})
    return write(path, inputs)


# ---- directory_answers -----------------------------------------------------------------------------------------------


def element(tag, *parts):
    data = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    length = bytes([len(data)]) if len(data) < 128 else bytes([0x84]) + len(data).to_bytes(4, "big")
    return bytes([tag]) + length + data


def message(number, tag, *parts):
    return element(0x30, element(2, bytes([number])), element(tag, *parts))


def result(number, tag, code=0, words=""):
    return message(number, tag, element(10, bytes([code])), element(4, ""), element(4, words))


def entry(number, dn, **attributes):
    return message(number, 0x64, element(4, dn), element(0x30, *(
        element(0x30, element(4, name), element(0x31, *(element(4, value) for value in values)))
        for name, values in attributes.items())))


def directory_answers(path):
    """Bytes as directory_answers_fuzz.c draws them, and the same over the wire."""
    good, done = bytes([0, 0, 1, 1]), bytes([3, 0, 1, 1])
    ann, group = bytes([5, 1, 1, 0, 1, 1]), lambda dn: bytes([5, 0, dn, 1, 4, 1, 4])
    capable = bytes([5, 1, 1, 5, 1, 5])
    inputs = []
    for flags in range(16):
        for tail in (capable + done + group(6) + group(7) + done, done + group(6) + done + group(7) + done + done):
            inputs.append(bytes([flags, 0]) + good + ann + done + good + good + tail)
        for code in range(22):
            refused = bytes([0, code, 0, 13, 1])
            inputs.append(bytes([flags, 0]) + (good + ann + done)[:10 * (code % 2)] + refused + done)
            inputs.append(bytes([flags, 0]) + good + ann + bytes([3, code, 1, 1]) + refused + good)
        inputs.append(bytes([flags, 0]) + good + ann + ann + done + good + good)
        inputs.append(bytes([flags, 0]) + good + ann + done + good + good + bytes([10, 59]) + group(6) * 59 + done)
        inputs.append(bytes([flags, 0]) + good + bytes([8]) + ann + bytes([9, 2, 1]) + done + good + good + done * 3)
    for code, words in ((0, ""), (49, "80090308: LdapErr: DSID-0C090447, data 533, v4563"), (53, "x" * 300), (49, "")):
        for person in ({"uid": ["ann"]}, {"uid": ["x", "ann"], "objectGUID": [bytes(range(200, 216))]}, {}):
            inputs.append(bytes([0, 1]) + b"".join([
                result(1, 0x61), entry(2, "cn=ann,dc=a", **person), message(2, 0x73, element(4, "ldap://e/dc=b")),
                result(2, 0x65), result(3, 0x61, code, words), result(4, 0x61),
                entry(5, "", supportedCapabilities=["1.2.840.113556.1.4.800"]), result(5, 0x65),
                entry(6, "cn=ops,dc=a", cn=["ops"]), result(6, 0x65)]))
    inputs += [bytes([1, 1]) + result(1, 0x78, code) for code in (0, 2)]
    inputs += [bytes([0, 1]) + text for text in (
        b"HTTP/1.1 400 Bad\r\n\r\n", b"\x30\x80\x02\x01\x01\x61", b"\x30\x84\x7f\xff\xff\xff\x02\x01\x01\x61",
        b"\x30\x84\x00\x0f\xff\xff\x02\x01\x01\x61", b"")]
    return write(path, inputs)


# ---- mapping ---------------------------------------------------------------------------------------------------------


def mapping(path):
    rules = ["ops -> admin; team-pay -> user in pay-*,other; *-readers -> reader", "* -> reader", "",
             '"CN=ops,OU=groups,DC=example,DC=org" -> admin\n"a\\"b\\\\c\\*" -> runner in x',
             "Domain Users -> user in *;;\n",
             "a -> user in a; b -> user in b; a,b -> reader", "ops -> admin in x", "ops -> user", "-> admin", "ops",
             'ops -> runner in"x" ', "a*b*c -> reader in x*,\t*y ; ** -> runner", '"a -> admin',
             "ops -> Admin", "\xff -> admin",
             ",".join("g" * i for i in range(1, 104)) + " -> admin", ";".join(["a -> admin"] * 502),
             "x" * 1001 + "->admin",
             "a\"b\" -> admin", "a b \"c\" -> admin", "in -> user in in in", "a,,b -> admin",
             "a->admin;b->runner in\tx"]
    groups = ["pay-a\0ann, pay-a ,bob\0ops", "other\0all\0team-pay\0x-readers", "none\0none", "a\0 \0b", "",
              "x\0\0Domain Users", "OPS\0NONE,ops\0aXbYc"]
    return write(path, [bytes([case]) + rule.encode("latin-1") + b"\0" + some.encode()
                        for rule in rules for some in groups for case in (0, 1)])


# ---- alarm_documents -------------------------------------------------------------------------------------------------


def alarm_documents(path):
    kinds = ("no_success", "long_run", "not_done", "few_executors", "late_shard", "x")
    rules = [{"kind": kind, **more} for kind in kinds
             for more in ({"limit": 60}, {"limit": 0}, {"limit": 99999999}, {"doneBy": "07:30"}, {"doneBy": "24:00"},
                          {"limit": 600, "tag": "pay"}, {"limit": 600, "group": "app"}, {"limit": 600, "tag": "a,b"},
                          {"limit": 600, "tag": None, "group": None}, {"limit": 600, "doneBy": "00:00"}, {})]
    rules += [{"limit": 60}, {"doneBy": "23:59"}, {"tag": "x" * 101}, {"group": "y" * 65}, [],
              {"kind": 7, "limit": "1"}]
    channels = [{"name": "ops", "kind": kind, "url": target, **more}
                for kind in ("json", "slack", "dingtalk", "wecom", "feishu", "mail")
                for target in ("https://hooks.example.com/x", "http://10.0.0.1/", "ftp://x", "https://a b", "")
                for more in ({}, {"secret": "s", "groups": ["app"], "tags": ["pay", "x"]}, {"quiet": None},
                             {"quiet": "22:00-07:00/Asia/Shanghai"}, {"name": ""})]
    channels += [{"name": "x"}, {"tags": ["a,b"]}, {"groups": []}, {"quiet": "22:00-07:00/UTC"}]
    inputs = []
    for who in (WHO["admin"], WHO["user"], WHO["real"], WHO["token"]):
        for i, (first, documents) in enumerate([(0, rules), (2, channels)]):
            for k, document in enumerate(documents if who == WHO["admin"] else documents[:9]):
                for call in (first, first + 1, first // 2 + 4):
                    world = bytes([who * 8 + k % 8, k % 4, 0, 0]) + (k * 7 + i).to_bytes(4, "little")
                    inputs.append(world + bytes([call]) + json.dumps(document, ensure_ascii=False).encode())
    return write(path, inputs)


def main():
    makers = {"http_handlers": http_handlers, "coord": coord, "oidc_answers": oidc_answers,
              "directory_answers": directory_answers, "mapping": mapping,
              "alarm_documents": alarm_documents}
    if len(sys.argv) != 3 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    print(f"{makers[sys.argv[1]](sys.argv[2])} inputs in {sys.argv[2]}")


if __name__ == "__main__":
    main()
