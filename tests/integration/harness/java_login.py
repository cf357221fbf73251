# SPDX-License-Identifier: MIT
"""
How Java admins decide who somebody is, of each generation of the tables, against the rows that are there. The original
is no program that can be had, so its rules are written out: of 2.3 to 3.1 the MD5 of a password and a cookie with the
row, from 3.2 on SHA-256 and one session in the column `token`. Names are looked up by SQL, as there.
"""
import hashlib
import json
import uuid


class JavaLogin:
    def __init__(self, tables):
        self.tables = tables
        self.is_old = tables.family < "3.2"

    def row(self, name):
        rows = self.tables.rows("SELECT * FROM xxl_job_user WHERE username = %s", (name,))
        return rows[0] if rows else None

    def digest(self, password):
        return (hashlib.md5 if self.is_old else hashlib.sha256)(password.encode()).hexdigest()

    def log_in(self, name, password):
        """The cookie's content; None: refused. From 3.2 on the session of before ends."""
        row = self.row(name)
        if not name.strip() or not password.strip() or not row or self.digest(password) != row["password"]:
            return None
        if self.is_old:
            return self.make_cookie(row["username"], row["password"])
        signature = uuid.uuid4().hex
        self.tables.execute("UPDATE xxl_job_user SET token = %s WHERE id = %s", (signature, row["id"]))
        return self.make_cookie(row["id"], signature)

    def make_cookie(self, who, secret):
        """As anybody can make one: of 2.x with name and hash, from 3.2 on with id and signature."""
        if self.is_old:
            text = json.dumps({"id": 1, "username": who, "password": secret, "role": 1, "permission": None})
            return f"{int.from_bytes(text.encode(), 'big'):x}"
        return {"userId": str(who), "expireTime": 0, "signature": secret}

    def find_user(self, cookie):
        """The row that a request with that cookie is from; None: nobody's."""
        if self.is_old:
            said = json.loads(bytes.fromhex(cookie))
            row = self.row(said["username"])
            return row if row and row["password"] == said["password"] else None
        rows = self.tables.rows("SELECT * FROM xxl_job_user WHERE id = %s", (cookie["userId"],))
        good = rows and rows[0]["token"] and cookie["signature"] and rows[0]["token"] == cookie["signature"]
        return rows[0] if good else None

    def may_see(self, row, group):
        """What the original's page of a group asks."""
        return row["role"] == 1 or str(group) in (row["permission"] or "").split(",")

    def change(self, name, password="", role=0, permission=""):
        """The page of users: a blank password keeps what is there."""
        self.tables.execute("UPDATE xxl_job_user SET role = %s, permission = %s WHERE username = %s",
                            (role, permission, name))
        if password:
            self.tables.execute("UPDATE xxl_job_user SET password = %s WHERE username = %s",
                                (self.digest(password), name))
