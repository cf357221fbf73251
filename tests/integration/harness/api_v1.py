# SPDX-License-Identifier: MIT
"""api/v1 by its own document, and by tests/vectors/v1/calls.json, which has one good call of each operation."""
import hashlib
import json
import os
import re
import urllib.parse

from .node import ROOT

METHODS = ("get", "post", "patch", "delete", "put")
SCOPES = ("read", "run", "write", "admin")


def load_calls():
    with open(os.path.join(ROOT, "tests", "vectors", "v1", "calls.json"), encoding="utf-8") as text:
        return json.load(text)


def has_refused_items(answer):
    """Of many jobs each is refused for itself, in an answer of 200."""
    if answer.status != 200 or not answer.text.startswith("{"):
        return False
    refused = answer.json.get("refused")
    return isinstance(refused, int) and refused > 0


class Document:
    def __init__(self, node):
        self.root = node.get("/api/v1/openapi.json").json

    def resolve(self, value):
        while isinstance(value, dict) and "$ref" in value:
            found = self.root
            for step in value["$ref"].lstrip("#/").split("/"):
                found = found[step]
            value = found
        return value

    def operations(self):
        """{"GET /api/v1/jobs": operation}"""
        return {f"{method.upper()} {path}": {**item[method], "parameters":
                                             item.get("parameters", []) + item[method].get("parameters", [])}
                for path, item in self.root["paths"].items() for method in METHODS if method in item}

    def parameters(self, operation, where):
        """{name: schema}"""
        found = [self.resolve(parameter) for parameter in operation["parameters"]]
        return {p["name"]: self.resolve(p["schema"]) for p in found if p["in"] == where}

    def members(self, operation):
        """{name: schema} of the body; None when it has none."""
        body = self.resolve(operation.get("requestBody"))
        if not body or "application/json" not in body["content"]:
            return None
        schema = self.resolve(body["content"]["application/json"]["schema"])
        members = dict(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            members.update(self.resolve(part).get("properties", {}))
        return {name: self.resolve(value) for name, value in members.items()}

    def parts(self, schema):
        """{name: schema} of an object's members; {None: schema} of a list's items."""
        if "items" in schema:
            return {None: self.resolve(schema["items"])}
        return {name: self.resolve(value) for name, value in schema.get("properties", {}).items()}


class Caller:
    """Calls as somebody: with the cookie of a session, or with a token of one scope."""

    def __init__(self, site, player):
        self.site = site
        self.player = player
        self.tokens = {}
        for scope in SCOPES + (",".join(SCOPES),):
            token = "swt_" + hashlib.sha256(scope.encode()).hexdigest()[:40]
            self.tokens[scope] = token
            site.tables.insert("shardwheel_token", {
                "hash": hashlib.sha256(token.encode()).hexdigest(), "name": scope, "user_id": 1, "scopes": scope,
                "created_ms": 1})

    def headers(self, who):
        scope = {"administer": "admin", "all": ",".join(SCOPES)}.get(who, who)
        if scope in self.tokens and who != "admin":
            return {"Authorization": f"Bearer {self.tokens[scope]}"}
        if who not in self.player.jars:
            self.player.login(who)
        jar = self.player.jars[who]
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}

    def url(self, row, path=None, query=None):
        """The row's own, with other parameters of its path; and another query text."""
        values = {**row.get("path", {}), **(path or {})}
        url = re.sub(r"\{(\w+)\}", lambda m: str(self.player.fill(values[m[1]])), row["call"].split(" ")[1])
        if query is None:
            query = urllib.parse.urlencode({name: self.player.fill(value) for name, value in
                                            row.get("query", {}).items()})
        return url + ("?" + query if query else "")

    def send(self, who, row, url=None, body=None, headers=None):
        """body: bytes instead of the row's own."""
        sent = {**self.headers(who), **(headers or {})}
        if body is None and "body" in row:
            body = json.dumps(self.player.fill(row["body"])).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        return self.site.node.request(row["call"].split(" ")[0], url or self.url(row), body, sent)
