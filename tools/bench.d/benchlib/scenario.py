# SPDX-License-Identifier: MIT
"""The group and the jobs of a run: made, started at one second, stopped and removed, in any schema generation."""

import secrets
import time

import pymysql

ROWS_AT_A_TIME = 1000
LOGS_AT_A_TIME = 20000
STOP_LOCK_S = 5
# Error numbers of a row that is locked (NOWAIT), and of a server that does not know NOWAIT.
LOCKED = {1205, 3572, 1222}
NO_SUCH_SYNTAX = 1064


class Jobs:
    """The bench's own group with its jobs. Nothing else in the database is changed."""

    def __init__(self, connection):
        self.connection = connection
        self.app_name = f"bench-{secrets.token_hex(4)}"
        self.group_id = None
        self.count = 0

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

    def create_jobs(self, expressions, route):
        now = self._now()
        self.count = len(expressions)
        self._insert("xxl_job_info", [{
            "job_group": self.group_id, "job_desc": f"bench {number}", "name": f"bench {number}", "add_time": now,
            "update_time": now, "author": "bench", "alarm_email": "", "schedule_type": "CRON",
            "schedule_conf": expression, "misfire_strategy": "DO_NOTHING", "executor_route_strategy": route,
            "executor_handler": "benchJobHandler", "executor_param": "", "executor_block_strategy": "SERIAL_EXECUTION",
            "executor_timeout": 0, "executor_fail_retry_count": 0, "glue_type": "BEAN", "glue_source": "",
            "glue_remark": "bench", "glue_updatetime": now, "child_jobid": "", "trigger_status": 0,
            "trigger_last_time": 0, "trigger_next_time": 0} for number, expression in enumerate(expressions)])

    def start(self, first_s):
        """Starts all jobs. first_s: each one's first due second by its expression; set in one statement."""
        cases = " ".join(["WHEN %s THEN %s"] * len(first_s))
        values = [value for expression, due_s in first_s.items() for value in (expression, due_s * 1000)]
        self._execute(f"UPDATE xxl_job_info SET trigger_next_time = CASE schedule_conf {cases} END, "
                      "trigger_last_time = 0, trigger_status = 1 WHERE job_group = %s", [*values, self.group_id])

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
                self.stop_at_once()
                self.connection.commit()
                return
            except pymysql.MySQLError as error:
                self.connection.rollback()
                if error.args[0] == NO_SUCH_SYNTAX:
                    break
                if error.args[0] not in LOCKED:
                    raise
                time.sleep(0.02)
        self.stop_at_once()

    def stop_at_once(self):
        """Stops all jobs without that lock: where no Java admin is about."""
        self._execute("UPDATE xxl_job_info SET trigger_status = 0, trigger_last_time = 0, trigger_next_time = 0 "
                      "WHERE job_group = %s", [self.group_id])

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

    def remove(self):
        """Takes away all that the run has left in the database."""
        if self.group_id is None:
            return
        with self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM xxl_job_info WHERE job_group = %s", [self.group_id])
            while cursor.execute(f"DELETE FROM xxl_job_log WHERE job_group = %s LIMIT {LOGS_AT_A_TIME}", [self.group_id]):
                pass
            cursor.execute("DELETE FROM xxl_job_registry WHERE registry_key = %s", [self.app_name])
            cursor.execute("DELETE FROM xxl_job_group WHERE id = %s", [self.group_id])
        self.group_id = None


def steady_expressions(rate):
    """Ten jobs for each fire per second: phases 0 to 9, each rate times."""
    return [f"{number % 10}/10 * * * * ?" for number in range(rate * 10)]


def steady_first(start_s):
    """First due seconds by expression, from start_s on."""
    return {f"{phase}/10 * * * * ?": start_s + (phase - start_s) % 10 for phase in range(10)}


def burst_expression(due_s):
    return f"{due_s % 60} * * * * ?"
