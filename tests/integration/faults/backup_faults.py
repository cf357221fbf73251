# SPDX-License-Identifier: MIT
"""Backups and maintenance of the database while nodes run: what an administrator does at night."""
import subprocess
import time

from .database_faults import BACK_S
from .scenarios import fault

BIG_ROWS = 100_000  # of the log and of the jobs, beside those of the load


def _flush_tables(stage):
    with stage.database.root() as root, root.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        yield
        cursor.execute("UNLOCK TABLES")
        stage.measure_back(time.time(), BACK_S)


@fault(hurts="database", seconds=(8, 10))
def tables_flushed(stage, rng):
    """FLUSH TABLES WITH READ LOCK, as snapshots of disks and older tools take it."""
    yield from _flush_tables(stage)


@fault(hurts="database", seconds=(50, 60), by_hand=True)
def tables_flushed_for_a_minute(stage, rng):
    """The same for as long as a backup takes."""
    yield from _flush_tables(stage)


def _dump(stage, *options):
    """A dump of all tables, thrown away; how long it took."""
    began = time.monotonic()
    done = subprocess.run(
        ["mariadb-dump", "--no-defaults", f"--socket={stage.database.socket}", "--user=root", *options,
         stage.world.tables.database], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120,
    )
    assert done.returncode == 0, f"mariadb-dump {' '.join(options)}: {done.stderr}"
    return time.monotonic() - began


def _big_tables(stage, rng):
    """Many rows of jobs that do not run and of runs that ended well, which nobody audits."""
    execute = stage.world.tables.execute
    execute(
        "INSERT INTO xxl_job_info (job_group, job_desc, author, schedule_type, glue_type, executor_block_strategy,"
        " misfire_strategy, executor_timeout, executor_fail_retry_count, trigger_status, trigger_last_time,"
        " trigger_next_time, add_time, update_time, glue_remark)"
        f" SELECT 0, REPEAT('a job ', 8), 'big', 'NONE', 'BEAN', 'SERIAL_EXECUTION', 'DO_NOTHING', 0, 0, 0, 0, 0,"
        f" NOW(), NOW(), '' FROM seq_1_to_{BIG_ROWS}")
    execute(
        "INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_handler, executor_param,"
        " executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, handle_time, handle_code, alarm_status)"
        " SELECT 0, 0, 'http://127.0.0.1:9999/', 'big', '', 0, UTC_TIMESTAMP() - INTERVAL 2 DAY, 200,"
        f" REPEAT('some text ', 20), UTC_TIMESTAMP(), 200, 0 FROM seq_1_to_{BIG_ROWS}")
    try:
        yield
    finally:
        execute("DELETE FROM xxl_job_info WHERE author = 'big'")
        execute("DELETE FROM xxl_job_log WHERE job_id = 0 AND executor_handler = 'big'")


@fault(hurts="database", seconds=(0, 1), around=_big_tables)
def tables_dumped_and_altered(stage, rng):
    """Dumps in one transaction and under locks, columns added with and without a copy of the table, OPTIMIZE."""
    _dump(stage, "--single-transaction")
    _dump(stage, "--lock-tables")
    with stage.database.connect(stage.world.tables.database) as session, session.cursor() as cursor:
        cursor.execute("SET SESSION lock_wait_timeout = 60")
        for table in ("xxl_job_info", "xxl_job_log"):
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN spare INT NULL")
            cursor.execute(f"ALTER TABLE {table} DROP COLUMN spare, ALGORITHM = COPY")
            cursor.execute(f"OPTIMIZE TABLE {table}")
        cursor.execute("OPTIMIZE TABLE xxl_job_lock")  # of which each node holds a row as long as it lives
    stage.measure_back(time.time(), BACK_S)
    yield
