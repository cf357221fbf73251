# SPDX-License-Identifier: MIT
"""A node with what the steps of tests/vectors/console know by name."""
import base64
import hashlib
import json
import time

import schemas

from .console_data import TABLES
from .executors import Reply


class Site:
    """A node of one schema generation, with groups, jobs, logs and users that the steps know by name."""

    def __init__(self, world, language="zh_CN", keys=None):
        self.world = world
        self.tables = world.tables
        self.family = world.tables.family
        self.language = language
        self.executor = world.executor(paths=("/run", "/trigger", "/log", "/kill"))
        self.vars = {"executor": self.executor.address}
        self._seed()
        self.node = world.node(keys={"xxl.job.i18n": language, "xxl.job.logretentiondays": 0, **(keys or {})})

    def hash(self, password):
        return (hashlib.sha256 if schemas.is_since(self.family, "3.2") else hashlib.md5)(password.encode()).hexdigest()

    def _seed(self):
        tables, names = self.tables, self.vars
        group_name = schemas.group_name_column(self.family)
        job_name = schemas.job_name_column(self.family)
        token = "token-of-one" if schemas.has_group_token(self.family) else None
        names["g1"] = tables.add_group("grp-one", [self.executor.address], token)
        names["g2"] = tables.add_group("grp-two")
        for group, name in (("g1", "One"), ("g2", "Two")):
            tables.execute(f"UPDATE xxl_job_group SET `{group_name}` = %s WHERE id = %s", (name, names[group]))
        for name, groups in (("ann", names["g1"]), ("bob", None), ("eve", names["g2"])):
            names[name] = tables.insert("xxl_job_user", {
                "username": name, "password": self.hash("123456"), "role": 0, "permission": groups})
        stopped = {"cron": "0 0 0 1 1 ? 2099", "trigger_status": 0, "trigger_next_time": 0, "author": "seeder"}
        names["j1"] = tables.add_job(names["g1"], **stopped, **{job_name: "seed one"})
        names["sh"] = tables.add_job(names["g1"], **stopped, **{
            job_name: "seed shell", "glue_type": "GLUE_SHELL", "executor_handler": "", "glue_source": "echo"})
        names["jn"] = tables.add_job(names["g1"], **stopped, **{
            job_name: "seed none", "schedule_type": "NONE", "schedule_conf": ""})
        names["j2"] = tables.add_job(names["g2"], **stopped, **{job_name: "seed two"})
        self._seed_logs()
        names["ann_hash"] = self.hash("123456")
        ann = {"id": names["ann"], "username": "ann", "password": names["ann_hash"], "role": 0, "permission": "1"}
        for name, row in (("a_cookie", ann), ("a_cookie_wrong", {**ann, "password": "0" * 32})):
            names[name] = json.dumps(row, separators=(",", ":")).encode().hex()
        session = json.dumps({"userId": str(names["ann"]), "expireTime": 0,
                              "signature": "0123456789abcdef0123456789abcdef"}, separators=(",", ":"))
        names["sso_cookie"] = base64.urlsafe_b64encode(session.encode()).decode().rstrip("=")

    def _seed_logs(self):
        tables, names = self.tables, self.vars
        shell = {"job_group": names["g1"], "executor_address": self.executor.address}
        for name, columns in (
            ("l_ok", {"trigger_time": "2024-05-01 10:00:00", "handle_code": 200, "handle_time": "2024-05-01 10:00:05"}),
            ("l_fail", {"trigger_time": "2024-05-01 11:00:00", "handle_code": 500, "handle_msg": "no"}),
            ("l_run", {}),
            ("l_tf", {"trigger_code": 500, "executor_address": None, "alarm_status": 1}),
        ):
            names[name] = tables.add_log(names["sh"], **{**shell, **columns})
        names["l_foreign"] = tables.add_log(names["j2"], **{**shell, "job_group": names["g2"]})
        names["l_orphan"] = tables.add_log(999999, **shell)
        names["l_last"] = names["l_orphan"]
        content = {"fromLineNum": 1, "toLineNum": 2, "logContent": "a <i> <b>bold</b><br>\"'&\n", "isEnd": False}

        def piece(request):
            content["fromLineNum"] = request.json["fromLineNum"]
            content["logContent"] = content["logContent"] if request.json["fromLineNum"] <= 2 else ""
            reply.body = json.dumps({"code": 200, "msg": None, "content": content, "data": content}).encode()

        reply = Reply(before=piece)
        self.executor.replies["/log"] = reply

    def sums(self):
        rows = self.tables.rows("CHECKSUM TABLE " + ", ".join(TABLES) + " EXTENDED")
        return {row["Table"].split(".")[1]: row["Checksum"] for row in rows}

    def watch(self, send):
        """(answer, names of the tables that changed while it was sent). The node has work of its own, which shows as a
        change now and then: what changes nothing when it is sent once more has changed nothing."""
        for n in range(10):
            time.sleep(n / 5)
            before = self.sums()
            answer = send()
            changed = [name for name, value in self.sums().items() if value != before[name]]
            if not changed or not is_refused(answer):
                break
        return answer, changed

    def add_ours(self):
        """Users with the roles that are ours: rita is a runner and ruth a reader of group 1, rose a reader of all."""
        for name, role, groups in (("rita", "runner", self.vars["g1"]), ("ruth", "reader", self.vars["g1"]),
                                   ("rose", "reader", None)):
            user = self.tables.insert("xxl_job_user", {"username": name, "password": self.hash("123456"), "role": 0})
            self.tables.insert("shardwheel_role", {"user_id": user, "role": role, "job_groups": groups})
            self.vars[name] = user

    def fresh(self, kind):
        """The id of something of group 1 that nobody else needs."""
        tables, names = self.tables, self.vars
        names["serial"] = serial = names.get("serial", 0) + 1
        if kind == "serial":
            return serial
        if kind == "job":
            return tables.add_job(names["g1"], cron="0 0 0 1 1 ? 2099", trigger_status=0, trigger_next_time=0)
        if kind == "group":
            return tables.add_group(f"fresh-{serial}")
        if kind == "user":
            return tables.insert("xxl_job_user", {
                "username": f"fresh{serial}", "password": self.hash("123456"), "role": 0})
        if kind == "version":
            return tables.insert("xxl_job_logglue", {
                "job_id": names["sh"], "glue_type": "GLUE_SHELL", "glue_source": "echo", "glue_remark": "fresh",
                "add_time": "2024-01-01", "update_time": "2024-01-01"})
        if kind == "token":
            return tables.insert("shardwheel_token", {
                "hash": hashlib.sha256(str(serial).encode()).hexdigest(), "name": f"fresh{serial}", "user_id": 1,
                "scopes": "read", "created_ms": 1})
        if kind.startswith("flow"):
            return self._fresh_flow(serial, kind == "flow-run")
        return tables.add_log(names["sh"], job_group=names["g1"], executor_address=self.executor.address)

    def _fresh_flow(self, serial, run):
        """A flow of one job and an approval; or a run of one, which has failed at its first step."""
        tables = self.tables
        document = {"name": f"fresh-{serial}", "schedule": {"every": 3600}, "steps": [
            {"name": "first", "type": "job", "jobId": self.vars["j1"]},
            {"name": "ask", "type": "approval", "text": "go?"}]}
        flow = tables.insert("shardwheel_flow", {
            "name": document["name"], "started": 0, "version": 1, "changed_ms": 1})
        tables.insert("shardwheel_flow_version", {
            "flow_id": flow, "version": 1, "document": json.dumps(document), "at_ms": 1, "who": "seeder"})
        if not run:
            return flow
        run_id = tables.insert("shardwheel_flow_run", {
            "flow_id": flow, "version": 1, "state": 3, "kind": "M", "due_s": 1, "depth": 0, "who": "seeder",
            "created_ms": 1, "started_ms": 1, "ended_ms": 2, "late_told": 0})
        for step, state in ((0, 3), (1, 5)):
            tables.insert("shardwheel_flow_step", {"run_id": run_id, "step": step, "state": state, "tries": 1})
        return run_id


def is_refused(answer):
    if answer.status >= 400:
        return True
    if not (answer.headers["Content-Type"] or "").startswith("application/json") or not answer.text.startswith("{"):
        return False
    return answer.json.get("code", 200) != 200
