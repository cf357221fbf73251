# SPDX-License-Identifier: MIT
"""shardwheelctl doctor: what it finds on a world, told as people and monitoring would check it."""
import json

from .node import options, run_shardwheel

STATUS = {"ok": 0, "note": 0, "warning": 1, "critical": 2, "unknown": 3}
_ORDER = ["ok", "note", "unknown", "warning", "critical"]


class Examination:
    """One run of doctor with --json."""

    def __init__(self, done):
        assert done.stdout, f"doctor said nothing, status {done.returncode}:\n{done.stderr}"
        self.status = done.returncode
        self.answer = json.loads(done.stdout)
        self.findings = self.answer["findings"]
        worst = max((f["level"] for f in self.findings), key=_ORDER.index)
        if self.answer["leftOut"] and _ORDER.index(worst) < _ORDER.index("unknown"):
            worst = "unknown"
        assert (self.answer["level"], self.answer["status"], self.status) == (worst, STATUS[worst], STATUS[worst])

    def above(self, level):
        return [f for f in self.findings if _ORDER.index(f["level"]) > _ORDER.index(level)]

    def find(self, code):
        """The findings of that code."""
        return [f for f in self.findings if f["code"] == code]

    def only(self, code, level, *words):
        """It found this, and nothing else above a note; its text has those words. The finding."""
        found = self.find(code)
        assert len(found) == 1, f"{code} stands {len(found)} times among:\n{self}"
        assert found[0]["level"] == level and (level == "note" or found[0]["change"]), found[0]
        others = [f for f in self.above("note") if f["code"] != code]
        assert not others, f"there is more than {code}:\n{others}"
        text = f"{found[0]['where']} {found[0]['what']} {found[0]['change']}"
        for word in words:
            assert word in text, f"'{word}' is not in: {text}"
        return found[0]

    def __str__(self):
        return "\n".join(f"{f['level']} {f['code']} {f['where']}: {f['what']}" for f in self.findings)


def examine(world, *arguments, keys=None, seconds=60):
    """With the settings of the world's nodes, and these instead; a key that is None is left out."""
    merged = {**world.keys(), **(keys or {})}
    given = {key: value for key, value in merged.items() if value is not None}
    return Examination(run_shardwheel(["ctl", "doctor", "--json", *arguments, *options(given)], seconds))
