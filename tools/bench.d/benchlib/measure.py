# SPDX-License-Identifier: MIT
"""Counters read at the two ends of a measurement, and their differences per fire."""

import dataclasses
import os
import threading
import time

import pymysql

from benchlib import proc

STATUS = ["Questions", "Com_select", "Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_commit",
          "Com_rollback", "Com_stmt_execute", "Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted",
          "Innodb_rows_read", "Innodb_os_log_written", "Innodb_data_fsyncs", "Innodb_os_log_fsyncs", "Binlog_commits",
          "Innodb_row_lock_time", "Innodb_row_lock_waits", "Handler_write", "Handler_update", "Handler_delete"]
READS = ("Handler_read_first", "Handler_read_key", "Handler_read_last", "Handler_read_next", "Handler_read_prev",
         "Handler_read_rnd", "Handler_read_rnd_next")


def read_status(connection):
    """Counters of the database server; the bytes of its binary log as binlog_bytes, if it has one."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS")
        everything = {name: int(value) for name, value in cursor.fetchall() if value.isdigit()}
        status = {name: everything[name] for name in STATUS if name in everything}
        status["Handler_read"] = sum(everything.get(name, 0) for name in READS)
        try:
            cursor.execute("SHOW BINARY LOGS")
            status["binlog_bytes"] = sum(int(row[1]) for row in cursor.fetchall())
        except pymysql.MySQLError:  # it is off, or we may not ask
            pass
    return status


def find_database_pid(connection):
    """The pid of the database server if it runs on this machine; None otherwise."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@pid_file, @@datadir")
        pid_file, folder = cursor.fetchone()
    try:
        with open(os.path.join(folder, pid_file), encoding="ascii") as file:
            pid = int(file.read())
    except (OSError, ValueError):
        return None
    name = proc.process_name(pid)
    return pid if name and name.startswith(("mariadbd", "mysqld")) else None


@dataclasses.dataclass
class Snapshot:
    wall_us: int
    admin: proc.Usage | None
    database: proc.Usage | None
    status: dict


class Meter:
    """Takes snapshots, and follows the admin's resident size in between."""

    def __init__(self, connection, admin_pid, exclude, database_pid):
        self.connection = connection
        self.admin_pid = admin_pid
        self.exclude = exclude
        self.database_pid = database_pid
        self.rss_peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self):
        while not self._stop.wait(1):
            self._admin()

    def _admin(self):
        usage = proc.usage(self.admin_pid, self.exclude) if self.admin_pid else None
        if usage:
            self.rss_peak = max(self.rss_peak, usage.rss_bytes)
        return usage

    def snapshot(self):
        database = proc.usage(self.database_pid) if self.database_pid else None
        status = read_status(self.connection)
        return Snapshot(time.time_ns() // 1000, self._admin(), database, status)

    def close(self):
        self._stop.set()
        self._thread.join()


def _cpu(before, after):
    """CPU seconds between two usages; None where it was not followed, or the process is another one now."""
    if before is None or after is None or after.cpu_s < before.cpu_s:
        return None
    return after.cpu_s - before.cpu_s


def difference(before, after, fires):
    """Figures per fire between two snapshots; `fires` arrived between them."""
    def per(value, factor=1.0, digits=3):
        return None if value is None or not fires else round(value * factor / fires, digits)

    def rows(innodb, handler):
        return delta.get(innodb, delta.get(handler))  # MariaDB 10.6 and later count rows by handler calls only

    def cores(cpu_s):
        """CPU seconds per second."""
        return None if cpu_s is None or not wall_s else round(cpu_s / wall_s, 3)

    wall_s = (after.wall_us - before.wall_us) / 1e6
    delta = {name: after.status[name] - value for name, value in before.status.items() if name in after.status}
    return {
        "measured_fires": fires,
        "measured_s": round(wall_s, 2),
        "admin_cores": cores(_cpu(before.admin, after.admin)),
        "database_cores": cores(_cpu(before.database, after.database)),
        "admin_cpu_s_per_1000": per(_cpu(before.admin, after.admin), 1000),
        "database_cpu_s_per_1000": per(_cpu(before.database, after.database), 1000),
        "admin_rss_mb": round(after.admin.rss_bytes / 2**20, 1) if after.admin else None,
        "statements_per_fire": per(delta.get("Questions")),
        "commits_per_fire": per(delta.get("Com_commit")),
        "rows_inserted_per_fire": per(rows("Innodb_rows_inserted", "Handler_write")),
        "rows_updated_per_fire": per(rows("Innodb_rows_updated", "Handler_update")),
        "rows_deleted_per_fire": per(rows("Innodb_rows_deleted", "Handler_delete")),
        "rows_read_per_fire": per(rows("Innodb_rows_read", "Handler_read")),
        "redo_bytes_per_fire": per(delta.get("Innodb_os_log_written"), digits=0),
        "binlog_bytes_per_fire": per(delta.get("binlog_bytes"), digits=0),
        "status": delta,
    }
