# SPDX-License-Identifier: MIT
"""What the bench does in a database, on a private server: jobs made, started, stopped and removed, and rows audited."""

import collections
import pathlib
import threading
import time

import pytest

from benchlib import auditing, dburl, scenario, server

ROOT = pathlib.Path(__file__).resolve().parents[3]
T = int(time.time()) // 60 * 60 - 120
SECONDS = 20


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    one = server.PrivateServer(tmp_path_factory.mktemp("db"), buffer_pool="32M")
    one.start()
    schema = tmp_path_factory.mktemp("sql") / "schema.sql"
    text = (ROOT / "sql" / "schema.sql").read_text(encoding="utf-8")
    schema.write_text("SET @admin_password_sha256 = SHA2('x', 256);\n" + text, encoding="utf-8")
    one.load(schema)
    yield one
    one.stop()


@pytest.fixture
def jobs(site):
    connection = dburl.connect(dburl.parse(site.url))
    connection.query("SET time_zone = '+00:00'")
    one = scenario.Jobs(connection)
    one.create_group(["http://127.0.0.1:1/"], "t", True)
    yield one
    one.remove()
    connection.close()


def ask(jobs, sql, *values):
    with jobs.connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def count(jobs, table):
    return ask(jobs, f"SELECT COUNT(*) FROM {table}")[0][0]


def by_expression(jobs):
    return dict(ask(jobs, "SELECT schedule_conf, COUNT(*) FROM xxl_job_info GROUP BY schedule_conf"))


def add_foreign(jobs, table):
    names = ", ".join(sorted(jobs._columns(table) - {"id", "job_group"}))
    ask(jobs, f"INSERT INTO {table} (job_group, {names}) SELECT 4711, {names} FROM {table} LIMIT 1")


@pytest.mark.parametrize("number", [10, 995, 12340])
def test_many_jobs_have_the_expressions_of_the_pattern_in_equal_parts(jobs, number):
    jobs.create_jobs(scenario.STEADY_PATTERN, number, "ROUND")
    found = by_expression(jobs)
    assert sum(found.values()) == jobs.count == number
    assert set(found) == set(scenario.STEADY_PATTERN) and max(found.values()) - min(found.values()) <= 1


def test_idle_jobs_beside_busy_ones_are_copies_of_idle_ones(jobs):
    jobs.create_jobs(scenario.STEADY_PATTERN, 100, "ROUND")
    jobs.create_jobs(["0 0 3 * * ?"], 3000, "ROUND")
    assert collections.Counter(by_expression(jobs)) == {**dict.fromkeys(scenario.STEADY_PATTERN, 10),
                                                        "0 0 3 * * ?": 3000}


def test_jobs_are_started_at_their_first_time_and_stopped(jobs):
    jobs.create_jobs(scenario.STEADY_PATTERN, 12000, "ROUND")
    jobs.start(scenario.steady_first(T))
    rows = ask(jobs, "SELECT DISTINCT schedule_conf, trigger_next_time, trigger_status FROM xxl_job_info")
    assert {conf: next_ms for conf, next_ms, _ in rows} == {
        conf: due * 1000 for conf, due in scenario.steady_first(T).items()}
    assert {status for *_, status in rows} == {1} and jobs.running() == 12000
    jobs.stop()
    assert jobs.running() == 0 and ask(jobs, "SELECT MAX(trigger_next_time) FROM xxl_job_info")[0][0] == 0


def test_what_is_all_of_the_bench_is_emptied_and_ids_go_on(jobs):
    assert [log_id for log_id, _ in jobs.create_log_rows(2500)] and count(jobs, "xxl_job_log") == 2500
    last = [jobs._last_id(table) for table in ("xxl_job_info", "xxl_job_log")]
    jobs.remove()
    assert count(jobs, "xxl_job_info") == count(jobs, "xxl_job_log") == 0
    jobs.create_group([], "t", True)
    jobs.create_log_rows(1)
    assert [jobs._last_id(table) for table in ("xxl_job_info", "xxl_job_log")] == [last[0] + 1, last[1] + 1]


@pytest.mark.parametrize("foreign", ["xxl_job_info", "xxl_job_log"])
def test_rows_of_others_stay(jobs, foreign):
    jobs.create_log_rows(100)
    add_foreign(jobs, foreign)
    jobs.remove()
    try:
        assert count(jobs, foreign) == 1 and count(jobs, "xxl_job_info") + count(jobs, "xxl_job_log") == 1
        assert ask(jobs, "SELECT COUNT(*) FROM xxl_job_group WHERE app_name LIKE 'bench-%%'")[0][0] == 0
    finally:
        ask(jobs, f"DELETE FROM {foreign}")


def test_an_admin_that_is_in_the_way_is_waited_for(jobs, site):
    jobs.create_log_rows(100)
    add_foreign(jobs, "xxl_job_log")  # so that the rows are deleted, the table not emptied
    other = dburl.connect(dburl.parse(site.url))
    other.begin()
    with other.cursor() as cursor:
        cursor.execute("SELECT id FROM xxl_job_log ORDER BY id LIMIT 1 FOR UPDATE")
    ask(jobs, "SET innodb_lock_wait_timeout = 1")
    end = threading.Timer(1.5, other.commit)  # the first try at least is in vain
    end.start()
    jobs.remove()
    end.join()
    other.close()
    assert count(jobs, "xxl_job_log") == 1
    ask(jobs, "DELETE FROM xxl_job_log")


def test_the_index_is_taken_away_only_if_it_was_made(jobs):
    jobs.create_jobs(scenario.STEADY_PATTERN, 10, "ROUND")
    jobs.create_index()
    assert jobs.has_index()
    second = scenario.Jobs(jobs.connection)
    second.create_group([], "t", True)
    second.create_index()
    second.remove()
    assert jobs.has_index()
    jobs.remove()
    assert not jobs.has_index()


class Run:
    """A run of which every due time has its row and its arrival."""

    def __init__(self, jobs, folder):
        self.jobs = jobs
        self.path = folder / "arrivals.csv"
        jobs.create_jobs(scenario.STEADY_PATTERN, 50, "ROUND")
        for due_s in range(T, T + SECONDS):
            ask(jobs, "INSERT INTO xxl_job_log (job_group, job_id, executor_fail_retry_count, trigger_time, "
                "trigger_code, trigger_msg, handle_code, alarm_status) "
                "SELECT job_group, id, 0, FROM_UNIXTIME(%s), 200, %s, 200, 0 "
                "FROM xxl_job_info WHERE schedule_conf = %s",
                due_s, f"<!--sw:p:{due_s}:3-->address", f"{due_s % 10}/10 * * * * ?")
        self.rows = ask(jobs, "SELECT id, job_id, UNIX_TIMESTAMP(trigger_time) FROM xxl_job_log ORDER BY id")
        self.write(self.rows)

    def write(self, rows):
        self.path.write_text(",".join(auditing.COLUMNS) + "\n" + "".join(
            f"{due_s * 1_000_000 + 250_000},{log_id},{job_id},{due_s * 1000},0,1,20000,h\n"
            for log_id, job_id, due_s in rows))

    def audit(self, site):
        verdict = auditing.audit(dburl.parse(site.url), T, T + SECONDS, [self.path], app_name=self.jobs.app_name)
        return (verdict.due, verdict.delivered, verdict.lost, verdict.doubled, verdict.open_rows), \
            sorted(offence.kind for offence in verdict.offences)


def test_a_good_run_is_audited_without_matching(site, jobs, tmp_path, monkeypatch):
    run = Run(jobs, tmp_path)
    monkeypatch.setattr(auditing, "load_rows", lambda *_: pytest.fail("there is nothing to look at closely"))
    assert run.audit(site) == ((100, 100, 0, 0, 0), [])


def test_what_is_wrong_with_a_run_is_found_in_the_database(site, jobs, tmp_path):
    run = Run(jobs, tmp_path)
    unfinished, gone, unmarked = (row[0] for row in run.rows[:3])
    ask(jobs, "UPDATE xxl_job_log SET handle_code = 0 WHERE id = %s", unfinished)
    ask(jobs, "DELETE FROM xxl_job_log WHERE id = %s", gone)
    ask(jobs, "UPDATE xxl_job_log SET trigger_msg = 'text' WHERE id = %s", unmarked)
    run.write(run.rows[:54] + run.rows[55:] + run.rows[-1:])  # of jobs that are all well otherwise
    assert run.audit(site) == ((100, 99, 0, 1, 1), ["arrival without row", "doubled", "result without arrival"])


def test_a_mark_that_names_another_due_time_is_looked_at_closely(site, jobs, tmp_path):
    """Each fire of the run went out ten seconds late, when the next one was due."""
    run = Run(jobs, tmp_path)
    ask(jobs, "UPDATE xxl_job_log SET trigger_msg = CONCAT('<!--sw:p:', UNIX_TIMESTAMP(trigger_time), ':3:O', "
        "UNIX_TIMESTAMP(trigger_time) - 10, '-->address')")
    assert run.audit(site)[0] == (100, 50, 50, 0, 0)
