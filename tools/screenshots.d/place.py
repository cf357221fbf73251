# SPDX-License-Identifier: MIT
"""A place as it may look on any day: groups, jobs, a day of runs, people, and who changed what; written into tables."""
import hashlib
import json
import random
import time

PASSWORD = "secret-123"
DAY = 86400
ZONE_S = 8 * 3600  # Asia/Shanghai, in which nodes and browser live
SALTED = random.Random(7)

# app name, title, hosts. The last group has lost its executor.
GROUPS = [
    ("orders", "Orders", ["127.0.0.11", "127.0.0.12", "127.0.0.13"]),
    ("billing", "Billing", ["127.0.0.21", "127.0.0.22"]),
    ("warehouse", "Warehouse", ["127.0.0.31", "127.0.0.32"]),
    ("reports", "Reports", []),
]

# key, name, group, handler, cron, seconds between fires, seconds behind their beginning, mean duration, more columns
JOBS = [
    ("sync", "order-sync", "orders", "orderSync", "0 0/5 * * * ?", 300, 0, 3, {
        "executor_param": "region=cn", "author": "ann", "executor_fail_retry_count": 2,
        "executor_route_strategy": "ROUND"}),
    ("capture", "payment-capture", "orders", "capturePayments", "0/30 * * * * ?", 30, 0, 2, {
        "author": "ann", "executor_route_strategy": "FAILOVER", "executor_block_strategy": "DISCARD_LATER"}),
    ("cart", "cart-expiry", "orders", "expireCarts", "0 0/10 * * * ?", 600, 0, 6, {
        "author": "wei", "executor_param": "older-than=48h"}),
    ("fraud", "fraud-scores", "orders", "scoreOrders", "20 * * * * ?", 60, 20, 8, {
        "author": "wei", "executor_timeout": 30, "executor_route_strategy": "LEAST_FREQUENTLY_USED"}),
    ("price", "price-import", "orders", "importPrices", "0 15 3 * * ?", DAY, 11700, 412, {
        "author": "ann", "executor_param": "supplier=all", "alarm_email": "orders-team@example.com"}),
    ("coupon", "coupon-reminder", "orders", "remindCoupons", "0 0 9 * * ?", DAY, 32400, 95, {"author": "mia"}),
    ("rates", "currency-rates", "billing", "fetchRates", "0 0/15 * * * ?", 900, 0, 4, {
        "author": "tom", "executor_fail_retry_count": 3, "alarm_email": "billing@example.com"}),
    ("export", "invoice-export", "billing", "exportInvoices", "0 30 2 * * ?", DAY, 9000, 640, {
        "author": "tom", "executor_timeout": 900, "misfire_strategy": "FIRE_ONCE_NOW"}),
    ("mail", "invoice-mail", "billing", "mailInvoices", "", 0, 0, 55, {
        "author": "tom", "schedule_type": "NONE", "schedule_conf": "", "trigger_status": 0}),
    ("archive", "invoice-archive", "billing", "archiveInvoices", "", 0, 0, 20, {
        "author": "tom", "schedule_type": "NONE", "schedule_conf": "", "trigger_status": 0}),
    ("dunning", "dunning-letters", "billing", "dunningLetters", "0 0 8 ? * MON-FRI", DAY, 28800, 130, {
        "author": "mia"}),
    ("ledger", "ledger-close", "billing", "closeLedger", "0 0 1 1 * ?", 0, 0, 1800, {
        "author": "tom", "trigger_status": 0}),
    ("stock", "stock-snapshot", "warehouse", "stockSnapshot", "0 5/15 * * * ?", 900, 300, 21, {
        "author": "lin", "executor_route_strategy": "CONSISTENT_HASH"}),
    ("parcels", "parcel-tracking", "warehouse", "trackParcels", "40 0/2 * * * ?", 120, 40, 9, {
        "author": "lin", "executor_route_strategy": "SHARDING_BROADCAST"}),
    ("rebuild", "search-index-rebuild", "warehouse", "rebuildIndex", "0 0 4 ? * SUN", 7 * DAY, 3 * DAY + 14400, 2400, {
        "author": "lin", "executor_param": "index=products", "executor_block_strategy": "SERIAL_EXECUTION"}),
    ("cleanup", "temp-file-cleanup", "warehouse", "", "0 40 4 * * ?", DAY, 16800, 12, {
        "author": "lin", "glue_type": "GLUE_SHELL", "executor_handler": ""}),
    ("kpi", "kpi-digest", "reports", "kpiDigest", "0 0 * * * ?", 3600, 0, 40, {"author": "mia"}),
]
CHILDREN = {"export": ["mail", "archive"], "price": ["stock"]}
TAGS = {"sync": "orders,critical", "capture": "payments,critical", "rates": "finance", "export": "finance,nightly",
        "price": "nightly", "cleanup": "nightly", "fraud": "critical", "stock": "inventory", "parcels": "inventory"}

BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10000, 20000, 60000]


def datetime_text(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def bulk(tables, table, names, rows):
    marks = ", ".join(["%s"] * len(names.split(",")))
    with tables.connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)


class Place:
    """Writes everything when it is made; afterwards nodes are started on it, then `add_minutes`."""

    def __init__(self, tables):
        self.tables = tables
        self.now = int(time.time())
        self.outage = (self.now // 3600 - 5) * 3600 + 600  # twelve minutes without a database
        self.groups, self.addresses, self.jobs, self.users = {}, {}, {}, {}
        tables.execute("DELETE FROM xxl_job_group")
        tables.execute("DELETE FROM xxl_job_info")
        for app, title, hosts in GROUPS:
            self.addresses[app] = [f"http://{host}:9999/" for host in hosts]
            self.groups[app] = tables.add_group(app)
            tables.execute("UPDATE xxl_job_group SET title = %s WHERE id = %s", (title, self.groups[app]))
        for job in JOBS:
            self._add_job(*job)
        for parent, children in CHILDREN.items():
            tables.execute("UPDATE xxl_job_info SET child_jobid = %s WHERE id = %s",
                           (",".join(str(self.jobs[child]) for child in children), self.jobs[parent]))
        self._add_people()

    def _add_job(self, key, name, app, handler, cron, every, behind, _, more):
        columns = {"job_desc": name, **more}
        if every:
            columns["trigger_next_time"] = self.due_after(every, behind, self.now + 12, "MON-FRI" in cron) * 1000
        elif columns.get("trigger_status", 1) == 0:
            columns["trigger_next_time"] = 0
        else:
            columns["trigger_next_time"] = (self.now + 3 * DAY) * 1000
        made = datetime_text(self.now - 90 * DAY + len(self.jobs) * 50000)
        columns.update(add_time=made, update_time=made)
        self.jobs[key] = self.tables.add_job(self.groups[app], handler, cron=cron, **columns)

    @staticmethod
    def due_after(every, behind, moment, workdays=False):
        local = moment + ZONE_S - behind
        due = local - local % every + every - ZONE_S + behind
        while workdays and time.gmtime(due + ZONE_S).tm_wday > 4:
            due += every
        return due

    def _add_people(self):
        hashed = hashlib.sha256(PASSWORD.encode()).hexdigest()
        self.tables.execute("DELETE FROM xxl_job_user")
        people = [("ann", 1, None), ("wei", 0, ["orders"]), ("tom", 0, ["billing"]), ("lin", 0, ["warehouse"]),
                  ("mia", 0, None), ("nightwatch", 0, None)]
        for number, (name, role, apps) in enumerate(people, 1):
            self.users[name] = number
            groups = ",".join(str(self.groups[app]) for app in apps) if apps else None
            self.tables.insert("xxl_job_user", {
                "id": number, "username": name, "password": hashed, "role": role, "permission": groups})

    # ---- what needs the tables of the nodes --------------------------------------------------------------------------

    def add_past(self):
        for key, tags in TAGS.items():
            self.tables.insert("shardwheel_job", {"job_id": self.jobs[key], "tags": tags})
        for name, role in (("mia", "reader"), ("nightwatch", "runner")):
            self.tables.insert("shardwheel_role", {"user_id": self.users[name], "role": role, "job_groups": None})
        self._add_runs()
        self._add_changes()
        self._add_alarms()

    def _add_runs(self):
        rows = []
        for key, _, app, handler, cron, every, behind, mean, more in JOBS:
            if not every:
                continue
            workdays = "MON-FRI" in cron
            due = self.due_after(every, behind, self.now - (28 if every >= DAY else 1) * DAY, workdays)
            while due <= self.now + 12:
                for row in self._become(key, app, due, mean):
                    row.update(job=self.jobs[key], group=self.groups[app], handler=handler,
                               param=more.get("executor_param"))
                    rows.append(row)
                    if row["handle"] == 200 and key in CHILDREN:
                        rows += [self._child(child, row) for child in CHILDREN[key]]
                due = self.due_after(every, behind, due, workdays)
        rows.sort(key=lambda row: row["at"])
        base = 180000
        numbers = {id(row): base + n for n, row in enumerate(rows)}
        values = []
        for row in rows:
            text = row["msg"]
            if row.get("next"):
                text += f"<br>retry<!--sw:r:{numbers[id(row['next'])]}-->"
            ended = row["at"] + row["took"] if row["handle"] else None
            values.append((numbers[id(row)], row["group"], row["job"], row.get("address"), row["handler"], row["param"],
                           row.get("left", 0), datetime_text(row["at"]), row["code"], text,
                           datetime_text(ended) if ended else None, row["handle"], row.get("said"),
                           2 if row.get("told") else 1 if row["handle"] != 200 else 0))
        bulk(self.tables, "xxl_job_log",
             "id,job_group,job_id,executor_address,executor_handler,executor_param,executor_fail_retry_count,"
             "trigger_time,trigger_code,trigger_msg,handle_time,handle_code,handle_msg,alarm_status", values)

    def _become(self, key, app, due, mean):
        """The rows of a due time."""
        dice = SALTED.random()
        addresses = self.addresses[app]
        good = {"at": due, "took": max(1, round(mean * SALTED.uniform(0.7, 1.4))), "code": 200, "handle": 200,
                "address": SALTED.choice(addresses) if addresses else None,
                "msg": f"<!--sw:p:{due}:3-->trigger type: cron<br>node: node-{'abc'[due % 3]}"}
        if not addresses:
            if due < self.now - 3 * 3600 - 600:
                return [{**good, "address": "http://127.0.0.41:9999/"}]
            return [{**good, "code": 500, "handle": 0, "took": 0, "told": due > self.now - 3600,
                     "msg": good["msg"] + "<br><br>reason: the group has no address"}]
        if self.outage <= due < self.outage + 720 and key in ("sync", "fraud", "capture"):
            return self._skipped(due, key)
        if key == "sync" and due % 86400 % 14400 == 6900:
            return [{**good, "at": due + 14, "msg": good["msg"].replace(f"{due}:3", f"{due + 14}:3:O{due}")}]
        if key == "capture" and dice < 0.004:
            return [{**good, "code": 500, "handle": 0, "took": 0,
                     "msg": good["msg"] + "<br><br>result: refused by the executor<br>code: 500<br>"
                     "msg: block strategy effect：Discard Later"}]
        if key == "fraud" and dice < 0.02:
            return [{**good, "took": 30, "handle": 502, "said": "job execute timeout "}]
        if key in ("rates", "sync") and dice < (0.22 if key == "rates" else 0.025):
            return self._retried(good, due, key, dice)
        if key == "export" and due > self.now - 3 * DAY:
            return [{**good, "handle": 500, "took": 214, "told": True,
                     "said": "java.io.IOException: No space left on device: /data/invoices/2026-11.csv"}]
        if key == "price" and dice < 0.15:
            return [{**good, "handle": 500, "took": 31, "told": True, "said": "supplier 'north' sent no price list"}]
        return [good]

    def _child(self, key, parent):
        _, _, app, handler, _, _, _, mean, _ = next(job for job in JOBS if job[0] == key)
        at = parent["at"] + parent["took"] + 1
        return {"job": self.jobs[key], "group": self.groups[app], "handler": handler, "param": None, "at": at,
                "took": round(mean * SALTED.uniform(0.8, 1.3)), "code": 200, "handle": 200,
                "address": self.addresses[app][0],
                "msg": f"<!--sw:d:seed-1:{at}:P:G1-->trigger type: parent<br>node: node-a"}

    def _retried(self, good, due, key, dice):
        said = "HTTP 503 from api.rates.example" if key == "rates" else "connection to orders-db timed out"
        first = {**good, "handle": 500, "took": 5, "said": said, "left": 3, "told": True}
        second = {**good, "at": due + 6, "msg": f"<!--sw:d:seed-1:{due + 6}:R-->trigger type: retry", "left": 2}
        first["next"] = second
        if key == "rates" and dice < 0.02:
            second.update(handle=500, said=said, told=True)
        return [first, second]

    def _skipped(self, due, key):
        """One row for all of the outage, at its first due time."""
        every = {"sync": 300, "fraud": 60, "capture": 30}[key]
        if due - every >= self.outage:
            return []
        count = len(range(due, self.outage + 720, every))
        last = due + (count - 1) * every
        local = [datetime_text(at) for at in (due, last)]
        return [{"at": due, "took": 0, "code": 500, "handle": 0, "msg":
                 f"<!--sw:s:{count}-->due times skipped: {count}: {local[0]} - {local[1]}<br>"
                 "not planned in time, misfire strategy DO_NOTHING"}]

    def _add_changes(self):
        jobs, groups, users = self.jobs, self.groups, self.users
        names = {job[0]: job[1] for job in JOBS}
        apps = {job[0]: job[2] for job in JOBS}
        changes = [
            (26.0, "ann", "job.update", "price", {"scheduleConf": "0 0 3 * * ?"}, {"scheduleConf": "0 15 3 * * ?"}),
            (20.2, "tom", "job.update", "rates", {"executorFailRetryCount": 1}, {"executorFailRetryCount": 3}),
            (9.5, "lin", "glue.save", "cleanup", {"glueRemark": "first version"},
             {"glueRemark": "say how much was freed"}),
            (7.1, "wei", "job.trigger", "cart", None, {"executorParam": "older-than=24h"}),
            (4.1, "ann", "job.update", "sync", {"executorFailRetryCount": 0, "executorParam": "region=all"},
             {"executorFailRetryCount": 2, "executorParam": "region=cn"}),
            (2.3, "tom", "job.stop", "ledger", {"running": True}, {"running": False}),
            (0.7, "tom", "job.update", "export", {"executorTimeout": 600}, {"executorTimeout": 900}),
        ]
        rows = []
        for hours, who, action, key, before, after in changes:
            rows.append((hours, who, action, jobs[key], names[key], groups[apps[key]], before, after))
        rows += [
            (22.0, "ann", "user.add", users["nightwatch"], "nightwatch", 0, None, {"role": "runner"}),
            (12.4, "ann", "group.update", groups["billing"], "billing", groups["billing"], {"title": "Invoices"},
             {"title": "Billing"}),
            (5.8, "tom", "session.begin", 0, "tom", 0, None, {}), (0.9, "ann", "session.begin", 0, "ann", 0, None, {}),
            (0.5, "ann", "node.drain", 0, "node-b", 0, None, {}),
            (0.45, "ann", "node.undrain", 0, "node-b", 0, None, {}),
        ]
        rows.sort(key=lambda row: -row[0])
        bulk(self.tables, "shardwheel_audit",
             "at_ms,user_id,who,address,via,action,target,target_name,job_group,before_json,after_json",
             [(int((self.now - hours * 3600) * 1000), users[who], who, "10.20.0.15", "console", action, target, name,
               group, before and json.dumps(before), json.dumps(after))
              for hours, who, action, target, name, group, before, after in rows])
        ms = self.outage * 1000
        bulk(self.tables, "shardwheel_event", "at_ms,until_ms,kind,node,shard,job_id,job_group,detail,data_json",
             [(ms, ms + 720000, "database-away", "node-a", None, None, 0,
               "The database could not be reached for 720 s.", None)])

    def _add_alarms(self):
        ms = self.now * 1000
        for name, kind, host, apps in (("on-call", "slack", "hooks.slack.example", ""),
                                       ("billing-team", "dingtalk", "oapi.dingtalk.example", "billing")):
            self.tables.insert("shardwheel_channel", {
                "name": name, "kind": kind, "target": f"https://{host}/services/x", "secret": "", "app_names": apps,
                "changed_ms": ms - 40 * DAY * 1000})
        told = [(7.2, "job_failed", "export", "on-call", None), (7.2, "job_failed", "export", "billing-team", None),
                (3.1, "job_failed", "rates", "billing-team", "HTTP 429 from the receiver"),
                (3.0, "executor_offline", None, "on-call", None), (2.8, "job_failed", "rates", "billing-team", None),
                (2.6, "job_recovered", "rates", "billing-team", None), (0.4, "job_failed", "kpi", "on-call", None)]
        names = {job[0]: (job[1], job[2]) for job in JOBS}
        for hours, event, key, channel, error in told:
            name, app = names.get(key, ("", "reports"))
            title = {"job_failed": f"Job {name} failed", "job_recovered": f"Job {name} works again",
                     "executor_offline": "Executors of reports are gone"}[event]
            log = self.tables.value("SELECT MAX(id) FROM xxl_job_log WHERE job_id = %s AND "
                                    "(handle_code = 500 OR trigger_code = 500)", (self.jobs.get(key, 0),)) or 0
            self.tables.insert("shardwheel_told", {
                "at_ms": int(ms - hours * 3600000), "event": event, "job_id": self.jobs.get(key, 0), "log_id": log,
                "app_name": app, "channel": channel, "receiver": "", "title": title, "error": error})

        for key in ("export", "kpi"):
            last = self.tables.value("SELECT MAX(id) FROM xxl_job_log WHERE job_id = %s", (self.jobs[key],))
            self.tables.insert("shardwheel_alarm", {
                "job_id": self.jobs[key], "last_log": last, "failures": 0, "failing": 1,
                "quiet_until_ms": ms + 3600000, "incarnation": ""})

    def add_minutes(self):
        """A day of them for the strip, as many fires as the log has, with lateness as it is on a good day."""
        counts = {}
        for row in self.tables.rows(
                "SELECT UNIX_TIMESTAMP(trigger_time) DIV 60 * 60 AS m, COUNT(*) AS n, SUM(trigger_code = 500) AS u, "
                "SUM(handle_code = 200) AS s, SUM(handle_code NOT IN (0, 200)) AS f FROM xxl_job_log "
                "WHERE trigger_time >= %s GROUP BY m", (datetime_text(self.now - DAY),)):
            counts[int(row["m"])] = row
        rows = []
        for minute, row in sorted(counts.items()):
            if self.outage <= minute < self.outage + 720:
                continue
            fires, late = int(row["n"]), [0] * 17
            for _ in range(fires):
                ms = SALTED.lognormvariate(1.2, 0.8)
                late[next((n for n, bound in enumerate(BOUNDS) if ms <= bound), 16)] += 1
            if SALTED.random() < 0.004 or minute == self.outage + 720:
                late[11] += 1
            rows.append((minute, "seed-1", fires, int(row["u"]), int(row["s"]), int(row["f"]), fires * 4,
                         ",".join(map(str, late))))
        bulk(self.tables, "shardwheel_minute",
             "minute_s,incarnation,fires,undelivered,succeeded,failed,late_sum_ms,lateness", rows)
