# SPDX-License-Identifier: MIT
"""Holds answers of a console against what a step expects."""
import re
import urllib.parse

from .console_data import COOKIES, DATE_FORMS, DATES, NO_ROLE, fields_of, is_in_order, path_of


class Answers:
    """The half of a Player that looks at answers; every check raises AssertionError."""

    def check(self, step, answer):
        """False when the answer is a refusal, which must have written nothing."""
        for text in step.get("no", ()):
            assert self.fill(text) not in answer.text, f"{text} is in {answer.text[:2000]}"
        if "cookie" in step:
            self.check_cookie(step["cookie"], answer)
        if "status" in step:
            return self.check_status(step, answer)
        if answer.status == 400 and self.dialect in step.get("or400", ""):
            return False
        if step.get("anonymous"):
            self.check_anonymous(answer, path_of(step["call"], self.dialect))
            return False
        if step.get("refused"):
            refused = answer.status >= 400 or answer.json["code"] != 200
            assert refused and answer.status < 500, f"no refusal: {answer}"
            if "has" in step:
                assert self.message(step["has"]) in answer.text, f"no {step['has']} in {answer}"
            return False
        assert answer.status == 200, f"{answer}"
        assert answer.headers["Content-Type"].startswith("application/json"), answer.headers["Content-Type"]
        return self.check_json(step, answer)

    def check_json(self, step, answer):
        if step.get("norole"):
            self.check_exception(answer, [self.word("system_permission_limit") if self.dialect == "A" else NO_ROLE])
        elif "ex" in step:
            self.check_exception(answer, [self.message(text) for text in step["ex"]])
        elif "msg" in step:
            self.check_envelope(answer, 500)
            wanted = self.message(step["msg"])
            assert answer.json["msg"] == wanted, f"the message is {answer.json['msg']!r}, not {wanted!r}: {answer}"
        elif "begins" in step:
            self.check_envelope(answer, 500)
            wanted = self.message(step["begins"])
            assert answer.json["msg"].startswith(wanted), f"the message does not begin with {wanted!r}: {answer}"
        elif "list" in step:
            self.check_list(step["list"], answer)
            return True
        elif "code" in step:
            assert answer.json["code"] == step["code"], f"{answer}"
            return True
        else:
            payload = self.check_envelope(answer, 200)
            self.check_payload(step["ok"], payload, answer)
            if "save" in step:
                self.site.vars[step["save"]] = int(payload)
            return True
        return False

    def check_status(self, step, answer):
        assert answer.status in step["status"], f"HTTP {answer.status}, not {step['status']}: {answer}"
        if "names" in step:
            assert step["names"] in answer.text, f"'{step['names']}' is not named: {answer}"
        for name, value in step.get("header", {}).items():
            assert value in (answer.headers[name] or ""), f"{name} is {answer.headers[name]!r}, not {value!r}"
        where = answer.headers["Location"] or ""
        if 300 <= answer.status < 400:
            assert re.match(r"/(?!/)", where), f"Location is {where!r}, which is not relative to the server"
        if step.get("toLogin"):
            assert "login" in where.lower(), f"Location is {where!r}"
        elif "page" in step and 300 <= answer.status < 400:
            assert "login" not in where.lower(), f"Location is {where!r}"
            assert step["page"] is True or self.fill(step["page"]) in where, f"Location is {where!r}"
        return answer.status < 400

    def check_anonymous(self, answer, path):
        if self.dialect == "A":
            assert answer.status == 302, f"{answer}"
            where = answer.headers["Location"]  # for browsers it is relative to the path, as a prefix may be stripped
            assert urllib.parse.urljoin(self.context + path, where) == self.context + "/toLogin", where
            assert not answer.text, f"{answer}"
        else:
            assert answer.status == 200, f"{answer}"
            self.check_exception(answer, [f"not login for path:{path}"])

    def check_cookie(self, expected, answer):
        cookies = answer.headers.get_all("Set-Cookie") or []
        if expected is None:
            assert not cookies, f"cookies {cookies}"
            return
        cookies = [text for text in cookies if text.startswith(COOKIES[self.dialect] + "=")]
        assert len(cookies) == 1, f"cookies {answer.headers.get_all('Set-Cookie')}: {answer}"
        name_value, *flags = [part.strip() for part in cookies[0].split(";")]
        flags = {flag.split("=")[0].lower(): flag for flag in flags}
        assert flags.get("path") == "Path=/", cookies[0]
        if expected.get("cleared"):
            assert name_value.endswith("=") and ("max-age" in flags or "expires" in flags), cookies[0]
            return
        assert "httponly" in flags and "domain" not in flags, cookies[0]
        if expected["session"]:
            assert "max-age" not in flags and "expires" not in flags, cookies[0]
        else:
            assert flags.get("max-age", "").lower() == "max-age=2147483647", cookies[0]
        value = name_value.split("=", 1)[1]
        if self.dialect == "A":
            assert re.fullmatch("[0-9a-f]+", value), cookies[0]

    def check_envelope(self, answer, code):
        """The payload."""
        assert answer.status == 200, f"{answer}"
        envelope = answer.json
        content = "content" if self.dialect in "AB" else "data"
        names = ["code", "msg", content] + (["success"] if self.dialect != "A" else [])
        assert is_in_order(list(envelope), self.dialect, names), f"members are {list(envelope)}: {answer}"
        assert envelope["code"] == code, f"{answer}"
        if self.dialect != "A":
            assert envelope["success"] is (code == 200), f"{answer}"
        if code == 200:
            words = (None,) if self.dialect == "A" else ("Success", "成功") if self.dialect == "B" else ("Success",)
            assert envelope["msg"] in words, f"{answer}"
        else:
            assert envelope[content] is None, f"{answer}"
        return envelope[content]

    def check_exception(self, answer, texts):
        envelope = answer.json
        names = ["code", "msg", "content"] if self.dialect == "A" else ["code", "msg"]
        assert list(envelope) == names, f"members are {list(envelope)}: {answer}"
        assert envelope["code"] == (203 if self.dialect == "B" else 500), f"{answer}"
        assert envelope["msg"] and envelope.get("content") is None, f"{answer}"
        for text in texts:
            assert text in envelope["msg"], f"no {text!r} in {answer}"

    def check_payload(self, expected, payload, answer):
        expected = self.fill(expected)
        if not isinstance(expected, dict):
            assert payload == expected, f"the payload is {payload!r}, not {expected!r}: {answer}"
            return
        if "re" in expected:
            assert isinstance(payload, str) and re.search(expected["re"], payload), f"{answer}"
        if "length" in expected:
            assert len(payload) == expected["length"], f"{answer}"
        for item in payload if "each" in expected else ():
            assert re.search(expected["each"], item), f"{answer}"
        if "ids" in expected:
            assert [str(row["id"]) for row in payload] == [str(i) for i in expected["ids"]], f"{answer}"
        rows = payload if isinstance(payload, list) else [payload]
        self.check_members(expected, rows)

    def check_members(self, expected, rows):
        if "fields" in expected:
            names = fields_of(expected["fields"], self.dialect)
            for row in rows:
                in_order = is_in_order(list(row), self.dialect, names)
                assert in_order or (expected["fields"] == "chart" and sorted(row) == sorted(names)), (
                    f"members are {list(row)}, not {names}")
                for name in set(DATES) & set(row):
                    assert row[name] is None or re.fullmatch(DATE_FORMS[self.dialect], row[name]), (
                        f"{name} is {row[name]!r}")
        for name, value in expected.get("has", {}).items():
            value = int(value) if isinstance(value, str) and name == "id" else value
            name = "name" if self.dialect == "D" and name == "title" else name
            assert rows[0][name] == value, f"{name} is {rows[0][name]!r}, not {value!r}"

    def check_list(self, expected, answer):
        expected = self.fill(expected)
        if self.dialect in "AB":
            page = answer.json
            assert list(page) == ["recordsFiltered", "data", "recordsTotal"], f"members are {list(page)}: {answer}"
            total, rows = page["recordsTotal"], page["data"]
            assert page["recordsFiltered"] == total, f"{answer}"
        else:
            page = self.check_envelope(answer, 200)
            assert is_in_order(list(page), self.dialect, ["offset", "pagesize", "data", "total"]), f"{answer}"
            total, rows = page["total"], page["data"]
            assert page["offset"] == page["pagesize"] == 0, f"{answer}"
        ids = [str(row["id"]) for row in rows]
        if "total" in expected:
            assert total == expected["total"], f"total is {total}, not {expected['total']} (ids {ids})"
        if "ids" in expected:
            assert ids == [str(i) for i in expected["ids"]], f"ids are {ids}, not {expected['ids']}"
        if "set" in expected:
            assert sorted(ids) == sorted(str(i) for i in expected["set"]), f"ids are {ids}, not {expected['set']}"
        self.check_members(expected, rows)
