# SPDX-License-Identifier: MIT
"""The group and the jobs of a run: made, started at one second, stopped and removed, in any schema generation."""

import datetime
import pathlib
import secrets
import time

import pymysql

ROOT = pathlib.Path(__file__).resolve().parents[3]

ROWS_AT_A_TIME = 1000
COPIES_AT_A_TIME = 50000
JOBS_AT_A_TIME = 5000  # of those that run: planning goes on in between
LOGS_AT_A_TIME = 20000
STOP_LOCK_S = 5
# Error numbers of a row that is locked (NOWAIT), and of a server that does not know NOWAIT.
LOCKED = {1205, 3572, 1222}
NO_SUCH_SYNTAX = 1064
DEADLOCK = 1213
TRIES = 20
MAY_NOT = 1142
INDEX_EXISTS = 1061


class Jobs:
    """The bench's own group with its jobs. Nothing else in the database is changed."""

    def __init__(self, connection):
        self.connection = connection
        self.app_name = f"bench-{secrets.token_hex(4)}"
        self.group_id = None
        self.count = 0
        self.made_index = False

    def _execute(self, sql, values=None):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall()

    def _columns(self, table):
        found = {name for name, in self._execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s",
            [table])}
        if not found:
            raise ValueError(f"the database has no table {table}: it is no xxl-job database")
        return found

    def _insert(self, table, rows):
        """rows: dicts with the same names; those that the table does not have are left out."""
        known = self._columns(table)
        names = [name for name in rows[0] if name in known]
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"
        with self.connection.cursor() as cursor:
            for start in range(0, len(rows), ROWS_AT_A_TIME):
                # One statement of many rows: pymysql joins the VALUES itself.
                cursor.executemany(sql, [[row[name] for name in names] for row in rows[start:start + ROWS_AT_A_TIME]])
            return cursor.lastrowid

    def create_group(self, addresses, token, manual):
        self.group_id = self._insert("xxl_job_group", [{
            "app_name": self.app_name, "title": "bench", "name": "bench", "address_type": int(manual),
            "address_list": ",".join(addresses) if manual else None, "access_token": token,
            "update_time": self._now()}])

    def _now(self):
        return self._execute("SELECT NOW()")[0][0]

    def _last_id(self, table):
        return self._execute(f"SELECT MAX(id) FROM {table}")[0][0] or 0

    def _multiply(self, table, after_id, known, missing):
        """Copies the `known` rows of the group behind that id, the oldest first, until there are `missing` more."""
        names = ", ".join(f"`{name}`" for name in sorted(self._columns(table) - {"id"}))
        while missing > 0:
            count = min(known, missing, COPIES_AT_A_TIME)
            self._execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {table} WHERE id > %s AND job_group = %s "
                          "ORDER BY id LIMIT %s", [after_id, self.group_id, count])
            known, missing = known + count, missing - count

    def create_jobs(self, pattern, count, route):
        """`count` jobs; their expressions are those of the pattern in turn."""
        now = self._now()
        self.count += count
        after_id = self._last_id("xxl_job_info")
        first = min(count, max(1, ROWS_AT_A_TIME // len(pattern)) * len(pattern))
        expressions = [pattern[number % len(pattern)] for number in range(first)]
        self._insert("xxl_job_info", [{
            "job_group": self.group_id, "job_desc": "bench", "name": "bench", "add_time": now,
            "update_time": now, "author": "bench", "alarm_email": "", "schedule_type": "CRON",
            "schedule_conf": expression, "misfire_strategy": "DO_NOTHING", "executor_route_strategy": route,
            "executor_handler": "benchJobHandler", "executor_param": "", "executor_block_strategy": "SERIAL_EXECUTION",
            "executor_timeout": 0, "executor_fail_retry_count": 0, "glue_type": "BEAN", "glue_source": "",
            "glue_remark": "bench", "glue_updatetime": now, "child_jobid": "", "trigger_status": 0,
            "trigger_last_time": 0, "trigger_next_time": 0} for expression in expressions])
        self._multiply("xxl_job_info", after_id, first, count - first)

    def _in_parts(self, sql, values=(), tries=TRIES):
        """An UPDATE of the group's jobs, part by part, each again if a deadlock undid it (not within a transaction)."""
        first, last = self._execute("SELECT MIN(id), MAX(id) FROM xxl_job_info WHERE job_group = %s",
                                    [self.group_id])[0]
        for start in range(first or 0, (last or -1) + 1, JOBS_AT_A_TIME):
            for left in reversed(range(tries)):
                try:
                    self._execute(f"{sql} WHERE id >= %s AND id < %s AND job_group = %s",
                                  [*values, start, start + JOBS_AT_A_TIME, self.group_id])
                    break
                except pymysql.MySQLError as error:
                    if error.args[0] != DEADLOCK or left == 0:
                        raise

    def start(self, first_s):
        """Starts all jobs. first_s: each one's first due second by its expression."""
        cases = " ".join(["WHEN %s THEN %s"] * len(first_s))
        values = [value for expression, due_s in first_s.items() for value in (expression, due_s * 1000)]
        self._in_parts(f"UPDATE xxl_job_info SET trigger_next_time = CASE schedule_conf {cases} END, "
                       "trigger_last_time = 0, trigger_status = 1", values)

    def stop(self):
        """Stops all jobs, if possible while holding the admins' schedule lock.

        Old Java admins write a job's status back after a pass and so start it again if it was stopped meanwhile; with
        the lock no pass is under way. Others hold a share of that row for ever: so it is asked for, never waited for.
        """
        end = time.monotonic() + STOP_LOCK_S
        while time.monotonic() < end:
            self.connection.begin()
            try:
                self._execute("SELECT lock_name FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE NOWAIT")
                self.stop_at_once(tries=1)
                self.connection.commit()
                return
            except pymysql.MySQLError as error:
                self.connection.rollback()
                if error.args[0] == NO_SUCH_SYNTAX:
                    break
                if error.args[0] not in LOCKED | {DEADLOCK}:
                    raise
                time.sleep(0.02)
        self.stop_at_once()

    def stop_at_once(self, tries=TRIES):
        """Stops all jobs without that lock: where no Java admin is about."""
        self._in_parts("UPDATE xxl_job_info SET trigger_status = 0, trigger_last_time = 0, trigger_next_time = 0",
                       tries=tries)

    def registered_addresses(self):
        """How many addresses the admin has put into the group."""
        text = self._execute("SELECT address_list FROM xxl_job_group WHERE id = %s", [self.group_id])[0][0]
        return len(text.split(",")) if text else 0

    def open_rows(self):
        """Rows that still wait for a result."""
        return self._execute("SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 0 AND trigger_code IN (0, 200) "
                             "AND job_group = %s", [self.group_id])[0][0]

    def running(self):
        return self._execute("SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status = 1 AND job_group = %s",
                             [self.group_id])[0][0]

    def _kept_of_group(self):
        """The condition for kept logs of this group; None: the database has no table of them."""
        if not self._execute("SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() "
                             "AND table_name = 'shardwheel_kept_log'"):
            return None
        return "job_id IN (SELECT id FROM xxl_job_info WHERE job_group = %s)"

    def kept_logs(self):
        """Logs that nodes have kept of this group's runs, and their bytes, before and after they were compressed."""
        where = self._kept_of_group()
        if not where:
            return None
        count, text, data = self._execute("SELECT COUNT(*), COALESCE(SUM(text_bytes), 0), COALESCE(SUM(bytes), 0) "
                                          f"FROM shardwheel_kept_log WHERE {where}", [self.group_id])[0]
        return {"count": count, "text_bytes": int(text), "bytes": int(data)} if count else None

    def remove(self):
        """Takes away all that the run has left in the database, beside an admin that may still be at work there."""
        for left in reversed(range(TRIES)):
            try:
                return self._remove()
            except pymysql.MySQLError as error:
                if error.args[0] not in LOCKED | {DEADLOCK} or left == 0:
                    raise

    def _remove(self):
        if self.group_id is None:
            return
        if self.made_index:
            self._execute("DROP INDEX i_shardwheel_next ON xxl_job_info")
            self.made_index = False
        where = self._kept_of_group()
        if where:
            self._execute(f"DELETE FROM shardwheel_kept_log WHERE {where}", [self.group_id])
        # With a job of somebody else about, a row of theirs could come between the look and the truncation.
        alone = not self._execute("SELECT 1 FROM xxl_job_info WHERE job_group <> %s LIMIT 1", [self.group_id])
        for table in ("xxl_job_log", "xxl_job_info"):
            if not (alone and self._truncate(table)):
                self._delete(table)
        with self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM xxl_job_registry WHERE registry_key = %s OR registry_key LIKE %s",
                           [self.app_name, f"{self.app_name}-%"])
            cursor.execute("DELETE FROM xxl_job_group WHERE id = %s", [self.group_id])
        self.group_id = None

    def _delete(self, table):
        with self.connection.cursor() as cursor:
            while cursor.execute(f"DELETE FROM {table} WHERE job_group = %s LIMIT {LOGS_AT_A_TIME}", [self.group_id]):
                pass

    def _truncate(self, table):
        """Empties a table that holds nothing but rows of this group; ids go on behind them. False if it may not."""
        if self._execute(f"SELECT 1 FROM {table} WHERE job_group <> %s LIMIT 1", [self.group_id]):
            return False
        last = self._last_id(table)
        try:
            self._execute(f"TRUNCATE TABLE {table}")
        except pymysql.MySQLError as error:
            if error.args[0] != MAY_NOT:
                raise
            return False
        self._execute(f"ALTER TABLE {table} AUTO_INCREMENT = {last + 1}")
        return True

    def create_index(self):
        """The index that shardwheel recommends for very many jobs; taken away in the end, unless it was there."""
        sql = (ROOT / "sql" / "index.sql").read_text(encoding="utf-8")
        try:
            self._execute(sql[sql.index("CREATE INDEX i_shardwheel_next"):].rstrip().rstrip(";"))
            self.made_index = True
        except pymysql.MySQLError as error:
            if error.args[0] != INDEX_EXISTS:
                raise

    def has_index(self):
        return bool(self._execute(
            "SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE() "
            "AND table_name = 'xxl_job_info' AND index_name = 'i_shardwheel_next' LIMIT 1"))

    def create_log_rows(self, count):
        """Rows that were sent and wait for their result, of one job: [(id, trigger_time)]"""
        self.create_jobs(["0 0 0 1 1 ? 2099"], 1, "FIRST")
        job_id = self._last_id("xxl_job_info")
        after_id = self._last_id("xxl_job_log")
        now = self._now()
        self._insert("xxl_job_log", [{
            "job_group": self.group_id, "job_id": job_id, "executor_address": "http://127.0.0.1:1/",
            "executor_handler": "benchJobHandler", "executor_param": "", "executor_fail_retry_count": 0,
            "trigger_time": now, "trigger_code": 200, "trigger_msg": "bench", "handle_code": 0, "alarm_status": 0}]
            * min(count, ROWS_AT_A_TIME))
        self._multiply("xxl_job_log", after_id, min(count, ROWS_AT_A_TIME), count - ROWS_AT_A_TIME)
        return self._execute("SELECT id, trigger_time FROM xxl_job_log WHERE job_group = %s ORDER BY id",
                             [self.group_id])

    def beating_addresses(self):
        return self._execute("SELECT COUNT(*) FROM xxl_job_registry WHERE registry_key LIKE %s",
                             [f"{self.app_name}-%"])[0][0]

    def committed_results(self):
        return self._execute("SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 200 AND job_group = %s",
                             [self.group_id])[0][0]


# Ten jobs for each fire per second: phases 0 to 9 in equal parts.
STEADY_PATTERN = [f"{phase}/10 * * * * ?" for phase in range(10)]


def idle_expression(now_s, zone):
    """(expression, due second) of jobs that are enabled and not due for half a day."""
    due = datetime.datetime.fromtimestamp(now_s + 12 * 3600, zone).replace(minute=0, second=0, microsecond=0)
    return f"0 0 {due.hour} * * ?", int(due.timestamp())


def steady_first(start_s):
    """First due seconds by expression, from start_s on."""
    return {f"{phase}/10 * * * * ?": start_s + (phase - start_s) % 10 for phase in range(10)}


def burst_expression(due_s):
    return f"{due_s % 60} * * * * ?"
