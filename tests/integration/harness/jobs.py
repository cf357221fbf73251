# SPDX-License-Identifier: MIT
"""Groups, jobs and log rows, written into the tables as the Java admin writes them, in any generation."""
import contextlib
import json
import re
import threading
import time

import pymysql
import schemas

from .process import wait_until

DONE = "trigger_code = 200 AND handle_code = 200"
OPEN = "trigger_code = 0 AND handle_code = 0"
_MARK = re.compile(r"<!--sw:p:(\d+):\d+(?::[LM])*(?::O(\d+))?-->")


class JobTables:
    def __init__(self, server, family="3.4", charset="utf8mb4", create=True):
        self.server = server
        self.family = family
        self.database = server.create_database()
        self.connection = server.connect(self.database)
        if create:
            for statement in schemas.create_tables_sql(family, charset) + schemas.seed_sql(family):
                self.execute(statement)

    def reconnect(self):
        """After the server was away."""
        self.connection = self.server.connect(self.database)

    def drop(self):
        """
        Nobody waits for it: for a second the server still has the transaction of a node that was killed. Where the
        server is stopped first, the tables are gone with it.
        """
        self.connection.close()
        threading.Thread(target=self._drop, daemon=True).start()

    def _drop(self):
        with contextlib.suppress(pymysql.Error, OSError):
            self.server.drop_database(self.database)

    # Plain access

    def execute(self, sql, values=()):
        """The number of rows that the statement found or changed."""
        with self.connection.cursor() as cursor:
            return cursor.execute(sql, values or None)

    def rows(self, sql, values=()):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def value(self, sql, values=()):
        row = self.rows(sql, values)
        return next(iter(row[0].values())) if row else None

    def insert(self, table, columns):
        names = ", ".join(f"`{name}`" for name in columns)
        marks = ", ".join(["%s"] * len(columns))
        with self.connection.cursor() as cursor:
            cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(columns.values()))
            return cursor.lastrowid

    # Groups and jobs

    def add_group(self, app_name, addresses=None, token=None):
        """With addresses: typed in by hand; without: filled from the registry."""
        columns = {
            "app_name": app_name, schemas.group_name_column(self.family): app_name[:12],
            "address_type": 0 if addresses is None else 1,
            "address_list": None if addresses is None else ",".join(addresses),
        }
        if token is not None:
            columns["access_token"] = token
        return self.insert("xxl_job_group", columns)

    def add_job(self, group, handler="demoJobHandler", cron="* * * * * ?", next_in=2, **columns):
        """A running job whose next fire is next_in seconds away, on a whole second; further columns as given."""
        now = int(time.time())
        row = {
            "job_group": group, schemas.job_name_column(self.family): handler, "author": "test",
            "schedule_type": "CRON", "schedule_conf": cron, "misfire_strategy": "DO_NOTHING",
            "executor_route_strategy": "FIRST", "executor_handler": handler, "executor_param": "",
            "executor_block_strategy": "SERIAL_EXECUTION", "glue_type": "BEAN", "glue_source": "",
            "glue_updatetime": "2024-05-06 07:08:09", "child_jobid": "",
            "trigger_status": 1, "trigger_next_time": (now + next_in) * 1000,
        }
        row.update(columns)
        return self.insert("xxl_job_info", row)

    def add_single_fire(self, group, in_seconds, handler="demoJobHandler", **columns):
        """A job with one occurrence only: (id, its due second)."""
        due = int(time.time()) + in_seconds
        moment = time.gmtime(due)
        cron = time.strftime("%S %M %H %d %m ? %Y", moment)
        return self.add_job(group, handler, cron=cron, trigger_next_time=due * 1000, **columns), due

    def add_load(self, group, fires_per_second, handler="loadHandler", route="ROUND"):
        """
        Ten times as many jobs as fires per second, each due every ten seconds at a known phase: every second has its
        share, and each arrival can be matched with its due second. The first fires come in 3 to 13 seconds, and later
        when there are so many jobs that it takes long to write them.
        """
        name = schemas.job_name_column(self.family)
        first = int(time.time()) + 3 + fires_per_second // 1000
        rows = []
        for phase in range(10):
            next_s = first + (phase - first) % 10
            rows += [(group, f"load {phase}", "CRON", f"{phase}/10 * * * * ?", handler, route, "SERIAL_EXECUTION",
                      "BEAN", 1, next_s * 1000)] * fires_per_second
        with self.connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO xxl_job_info (job_group, `{name}`, schedule_type, schedule_conf, executor_handler,"
                " executor_route_strategy, executor_block_strategy, glue_type, trigger_status, trigger_next_time)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",  # nothing but placeholders, or they go one by one
                rows,
            )
        return first

    def job(self, job_id):
        return self.rows("SELECT * FROM xxl_job_info WHERE id = %s", (job_id,))[0]

    def audit(self, actions):
        """Rows of shardwheelctl whose action is like that, in their order; `before` and `after` are objects or None."""
        rows = self.rows("SELECT * FROM shardwheel_audit WHERE action LIKE %s AND who = 'shardwheelctl' AND "
                         "via = 'shardwheelctl' ORDER BY id", (actions,))
        for row in rows:
            for side in ("before", "after"):
                row[side] = json.loads(row[side + "_json"]) if row[side + "_json"] else None
        return rows

    def stop_job(self, job_id):
        """As the console of the Java admin does."""
        self.execute(
            "UPDATE xxl_job_info SET trigger_status = 0, trigger_last_time = 0, trigger_next_time = 0 WHERE id = %s",
            (job_id,),
        )

    # Log rows

    def add_log(self, job_id=1, **columns):
        """A row of a fire that an executor has accepted and not yet finished, unless the columns say otherwise."""
        row = {
            "job_group": 1, "job_id": job_id, "trigger_time": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime()),
            "trigger_code": 200, "trigger_msg": "", "handle_code": 0,
        }
        row.update(columns)
        return self.insert("xxl_job_log", row)

    def log(self, log_id):
        return self.rows("SELECT * FROM xxl_job_log WHERE id = %s", (log_id,))[0]

    def logs(self, job_id, where="1=1"):
        return self.rows(f"SELECT * FROM xxl_job_log WHERE job_id = %s AND {where} ORDER BY id", (job_id,))

    def wait_logs(self, job_id, where=DONE, count=1, seconds=10):
        """Waits for rows of the job; what the rows look like now is in the message of a failure."""

        def enough():
            found = self.logs(job_id, where)
            assert len(found) >= count, f"{len(found)} rows with {where}; all: {self.brief(job_id)}"
            return found

        return wait_until(enough, seconds, f"{count} log rows of job {job_id} with {where}")

    def brief(self, job_id):
        return [
            (r["id"], r["trigger_code"], r["handle_code"], (r["trigger_msg"] or "")[-200:]) for r in self.logs(job_id)
        ][-10:]

    def open_rows(self, from_s=0, to_s=1 << 40):
        """Marked rows of those due seconds that nobody has decided on yet."""
        rows = self.rows(f"SELECT id, trigger_msg FROM xxl_job_log WHERE {OPEN} AND trigger_msg LIKE '<!--sw:p:%'")
        return [row["id"] for row in rows if from_s <= due_second(row) <= to_s]

    # Tables of the cluster

    def owners(self):
        """{node name: number of shards} of shards that somebody owns."""
        rows = self.rows(
            "SELECT owner, COUNT(*) AS shards FROM shardwheel_shard WHERE owner IS NOT NULL AND owner <> '' "
            "GROUP BY owner"
        )
        return {row["owner"]: row["shards"] for row in rows}

    def wait_owners(self, counts, seconds=15):
        """counts: the numbers of shards, in any order of nodes."""

        def as_wanted():
            owners = self.owners()
            assert sorted(owners.values()) == sorted(counts), f"owners are {owners}"
            return True

        wait_until(as_wanted, seconds, f"shards to be owned {counts}")


def due_second(row):
    """Which due second a planned row stands for (`:O`, when it goes out later); None for rows that are not planned."""
    found = _MARK.match(row["trigger_msg"] or "")
    return int(found[2] or found[1]) if found else None
