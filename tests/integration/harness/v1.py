# SPDX-License-Identifier: MIT
"""Callers of api/v1: users with a token each."""
import hashlib
import itertools
import json
import secrets

SCOPES = "read,run,write,admin"


# Ids that nobody finds by trying: who tries out everything must not remove himself.
_ids = itertools.count(1_234_567, 1009)


def add_token(tables, user_id, scopes=SCOPES):
    """A token of that user, as it would be shown to him once."""
    token = "swt_" + secrets.token_hex(20)
    tables.insert("shardwheel_token", {
        "id": next(_ids),
        "hash": hashlib.sha256(token.encode()).hexdigest(), "name": token[4:12], "user_id": user_id, "scopes": scopes,
        "created_ms": 1,
    })
    return token


def add_user(tables, name, role=0, groups=(), own_role=None):
    """A user that cannot log in; `own_role` is reader or runner, whose groups stand in a table of ours."""
    user_id = next(_ids)
    tables.insert("xxl_job_user", {
        "id": user_id, "username": name, "password": "-", "role": role,
        "permission": "" if own_role else ",".join(str(group) for group in groups),
    })
    if own_role:
        tables.insert("shardwheel_role", {
            "user_id": user_id, "role": own_role,
            "job_groups": ",".join(str(group) for group in groups) if groups else None,
        })
    return user_id


class Api:
    """One caller. `token` None: nobody."""

    def __init__(self, node, token):
        self.node = node
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, method, path, body=None, headers=None, seconds=30):
        headers = {**self.headers, **(headers or {})}
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        return self.node.request(method, "/api/v1" + path, body, headers, seconds)

    def good(self, method, path, body=None, status=200, **options):
        answer = self.call(method, path, body, **options)
        assert answer.status == status, f"{method} {path}: {answer}"
        return answer.json if answer.text else None

    def refused(self, method, path, body=None, status=400, **expected):
        """Refused with that status, and with those members of the problem."""
        answer = self.call(method, path, body, headers=expected.pop("headers", None))
        assert answer.status == status, f"{method} {path}: {answer}"
        assert answer.headers["Content-Type"] == "application/problem+json", answer
        problem = answer.json
        assert problem["status"] == status and problem["detail"], problem
        assert {name: problem.get(name) for name in expected} == expected, problem
        return answer
