# SPDX-License-Identifier: MIT
"""What counts as lost, doubled, late, unknown: matching of due times with rows and arrivals."""

from benchlib import dues, matching

T = 1_700_000_040  # a whole minute
EVERY_10 = dues.SecondsOfMinute(range(0, 60, 10))


def job(job_id=1, schedule=EVERY_10, **more):
    return matching.Job(job_id, schedule, **more)


def arrival(at_s, log_id, job_id=1, sent_s=0, **more):
    return matching.Arrival(round(at_s * 1_000_000), log_id, job_id, round(sent_s * 1000), **more)


def row(log_id, due_s=None, job_id=1, trigger_code=200, handle_code=200, trigger_s=None, **more):
    mark = f"<!--sw:p:{due_s}:3-->text" if due_s is not None else "text"
    return matching.Row(log_id, job_id, trigger_s or due_s, trigger_code, handle_code, mark, **more)


def match(jobs, rows, arrivals, from_s=T, to_s=T + 30, **more):
    verdict = matching.match(jobs, rows, arrivals, from_s, to_s, **more)
    verdict.finish()
    return verdict


def kinds(verdict):
    return sorted(offence.kind for offence in verdict.offences)


def test_each_due_time_once_is_all_well():
    verdict = match([job()], [row(i, T + 10 * i) for i in range(3)],
                    [arrival(T + 10 * i + 0.25, i) for i in range(3)])
    assert (verdict.due, verdict.delivered, verdict.lost, verdict.doubled) == (3, 3, 0, 0)
    assert list(verdict.lateness_ms) == [250, 250, 250] and not verdict.offences
    assert (verdict.results_ok, verdict.open_rows, verdict.early) == (3, 0, 0)


def test_the_longest_gap_counts_from_the_begin_and_between_arrivals_of_the_window():
    def gap(*at_s):
        return match([job()], [row(i, T + 10 * i) for i in range(3)],
                     [arrival(T + s, i) for i, s in enumerate(at_s)]).longest_gap_ms

    assert gap(0.5, 10.5, 23) == 12_500
    assert gap(14, 14.5, 21) == 14_000
    assert gap() == 0


def test_without_marks_the_arrival_tells_the_due_time():
    verdict = match([job()], [row(i, trigger_s=T + 10 * i) for i in range(3)],
                    [arrival(T + 10 * i + 9.9, i) for i in range(3)])
    assert (verdict.delivered, verdict.lost, verdict.doubled) == (3, 0, 0)


def test_the_window_ends_before_its_last_second():
    verdict = match([job()], [row(1, T - 10), row(2, T + 10), row(3, T)],
                    [arrival(T - 9, 1), arrival(T + 10.1, 2), arrival(T + 0.1, 3)], to_s=T + 10)
    assert (verdict.due, verdict.delivered, verdict.arrivals_outside, verdict.rows) == (1, 1, 2, 1)


def test_neither_row_nor_arrival_is_lost():
    verdict = match([job()], [row(0, T), row(2, T + 20)], [arrival(T, 0), arrival(T + 20, 2)])
    assert (verdict.delivered, verdict.lost) == (2, 1)
    assert [(o.kind, o.job_id, o.due_s, o.log_ids) for o in verdict.offences] == [("lost", 1, T + 10, [])]


def test_an_open_row_without_arrival_is_lost():
    verdict = match([job()], [row(5, T, trigger_code=0, handle_code=0)], [], to_s=T + 10)
    assert (verdict.lost, verdict.open_rows) == (1, 1)
    assert verdict.offences[0].kind == "lost, its row is open" and verdict.offences[0].log_ids == [5]


def test_accepted_says_the_row_but_nothing_arrived():
    verdict = match([job()], [row(5, T, handle_code=0)], [], to_s=T + 10)
    assert verdict.lost == 1


def test_a_result_without_arrival_is_not_lost():
    verdict = match([job()], [row(5, T)], [], to_s=T + 10)
    assert (verdict.lost, verdict.result_without_arrival) == (0, 1)


def test_a_row_with_a_reason_is_failed_not_lost():
    for row_ in (row(5, T, trigger_code=500, handle_code=0), row(5, T, trigger_code=200, handle_code=500),
                 row(5, trigger_s=T + 1, trigger_code=500, handle_code=0)):
        verdict = match([job()], [row_], [], to_s=T + 10)
        assert (verdict.lost, verdict.failed, verdict.unknown) == (0, 1, 0)


def test_delivery_unknown_is_counted_by_itself():
    unknown = row(5, T, trigger_code=500, handle_code=0, says_unknown=True)
    verdict = match([job()], [unknown], [], to_s=T + 10)
    assert (verdict.unknown, verdict.failed, verdict.lost, verdict.delivered) == (1, 0, 0, 0)
    verdict = match([job()], [unknown], [arrival(T, 5)], to_s=T + 10)
    assert (verdict.unknown, verdict.delivered, verdict.results_failed) == (0, 1, 1), "it did arrive"


def test_second_arrival_of_one_row_is_doubled():
    verdict = match([job()], [row(5, T)], [arrival(T, 5), arrival(T + 3, 5)], to_s=T + 10)
    assert (verdict.delivered, verdict.doubled, verdict.lost) == (1, 1, 0)
    assert list(verdict.lateness_ms) == [0], "the first one counts"


def test_second_row_for_one_due_time_is_doubled():
    verdict = match([job()], [row(5, T), row(6, T)], [arrival(T + 12, 5), arrival(T + 1, 6), arrival(T + 2, 5)],
                    to_s=T + 10)
    assert (verdict.delivered, verdict.doubled, verdict.planned_twice) == (1, 2, 1)
    assert sorted(o.log_ids for o in verdict.offences) == [[5, 6], [5, 6]]


def test_planned_twice_but_fired_once_is_no_double_fire():
    verdict = match([job()], [row(5, T), row(6, T, trigger_code=0, handle_code=0)], [arrival(T, 5)], to_s=T + 10)
    assert (verdict.doubled, verdict.planned_twice, verdict.open_rows) == (0, 1, 1)


def test_doubled_without_marks():
    verdict = match([job()], [], [arrival(T + 1, 5), arrival(T + 2, 6), arrival(T + 10, 7), arrival(T + 20, 8)])
    assert (verdict.delivered, verdict.doubled, verdict.lost, verdict.arrivals_without_row) == (3, 1, 0, 4)


def test_late_over_a_period_with_marks():
    verdict = match([job()], [row(0, T), row(1, T + 10), row(2, T + 20)],
                    [arrival(T + 13, 0), arrival(T + 13, 1), arrival(T + 20, 2)])
    assert (verdict.delivered, verdict.lost, verdict.doubled) == (3, 0, 0)
    assert list(verdict.lateness_ms) == [0, 3000, 13000]


def test_late_over_a_period_by_the_time_that_was_sent():
    """A shardwheel admin sends the due second, a Java one the second it fired at: both are before the arrival."""
    verdict = match([job()], [], [arrival(T + 13, 0, sent_s=T), arrival(T + 13, 1, sent_s=T + 12.9),
                                  arrival(T + 20, 2, sent_s=T + 20)])
    assert (verdict.delivered, verdict.lost, verdict.doubled) == (3, 0, 0)


def test_late_over_a_period_without_any_evidence_is_lost_and_doubled():
    verdict = match([job()], [], [arrival(T + 13, 0), arrival(T + 14, 1), arrival(T + 20, 2)])
    assert (verdict.delivered, verdict.lost, verdict.doubled) == (2, 1, 1)


def test_a_sending_time_ahead_of_the_arrival_is_not_believed():
    verdict = match([job()], [], [arrival(T + 1, 0, sent_s=T + 10)], to_s=T + 20)
    assert (verdict.delivered, verdict.lost) == (1, 1) and list(verdict.lateness_ms) == [1000]


def test_the_mark_wins_over_all_times():
    verdict = match([job()], [row(0, T)], [arrival(T + 25, 0, sent_s=T + 20)], to_s=T + 10)
    assert list(verdict.lateness_ms) == [25000]


def test_before_its_second_is_early():
    verdict = match([job()], [row(0, T)], [arrival(T - 0.3, 0)], to_s=T + 10)
    assert (verdict.early, list(verdict.lateness_ms)) == (1, [-300])


def test_mark_of_the_last_occurrence():
    late = matching.Row(1, 1, T, 200, 200, f"<!--sw:p:{T}:9:M:O{T - 30}-->done")
    assert late.due_s == T - 30  # it stands for an earlier due time
    last = matching.Row(1, 1, T, 200, 200, f"<!--sw:p:{T}:9:L-->done")
    assert (last.due_s, last.is_direct) == (T, False)
    assert matching.Row(1, 1, T, 200, 200, f"text <!--sw:p:{T}:9-->").due_s is None, "only at the head"


def test_manual_runs_are_neither_due_nor_doubled():
    direct = matching.Row(9, 1, T + 1, 200, 200, "<!--sw:d:17:3-->")
    verdict = match([job()], [row(5, T), direct], [arrival(T, 5), arrival(T + 1, 9)], to_s=T + 10)
    assert (verdict.delivered, verdict.doubled, verdict.arrivals_direct, verdict.rows) == (1, 0, 1, 1)


def test_a_broadcast_is_due_once_per_index():
    rows = [row(i, T, sharding=f"{i}/3") for i in range(3)]
    arrivals = [arrival(T + 1, i, index=i, total=3) for i in range(3)]
    verdict = match([job(broadcast=True)], rows, arrivals, to_s=T + 10)
    assert (verdict.due, verdict.delivered, verdict.doubled, verdict.lost) == (3, 3, 0, 0)
    verdict = match([job(broadcast=True)], rows, arrivals[:2] + [arrival(T + 2, 1, index=1, total=3)], to_s=T + 10)
    assert (verdict.delivered, verdict.doubled, verdict.lost, verdict.result_without_arrival) == (2, 1, 0, 1)
    verdict = match([job(broadcast=True)], rows[:1], arrivals[:1], to_s=T + 10)
    assert (verdict.due, verdict.delivered, verdict.lost) == (3, 1, 2)
    assert sorted(o.index for o in verdict.offences) == [1, 2]
    assert match([job(broadcast=True)], [], [], to_s=T + 10).lost == 1


def test_an_index_of_a_job_that_is_no_broadcast_does_not_hide_a_second_run():
    verdict = match([job()], [], [arrival(T, 1, index=0, total=2), arrival(T, 2, index=1, total=2)], to_s=T + 10)
    assert (verdict.due, verdict.doubled) == (1, 1)


def test_due_times_of_unknown_schedules_come_from_marks():
    rows = [row(1, T + 3), row(2, T + 8, trigger_code=0, handle_code=0), row(3, T + 90)]
    verdict = match([job(schedule=None), job(2, schedule=None)], rows, [arrival(T + 3.5, 1)])
    assert (verdict.due, verdict.delivered, verdict.lost, verdict.jobs_without_dues) == (2, 1, 1, 1)


def test_a_row_for_a_second_that_is_not_due():
    verdict = match([job()], [row(1, T), row(2, T + 3)], [arrival(T, 1), arrival(T + 3, 2)], to_s=T + 10)
    assert (verdict.rows_without_due, verdict.fired_without_due, verdict.due, verdict.doubled) == (1, 1, 1, 0)
    assert kinds(verdict) == ["fired without due time", "row without due time"]


def test_without_files_of_arrivals_the_accepted_rows_count():
    rows = [row(1, T), row(2, T + 10, handle_code=0), row(3, T + 20), row(4, T + 20)]
    verdict = match([job()], rows, [], has_arrivals=False)
    assert (verdict.delivered, verdict.doubled, verdict.lost) == (3, 1, 0)
    verdict = match([job()], rows[:1] + [row(2, T + 10, trigger_code=0, handle_code=0)], [], has_arrivals=False)
    assert (verdict.delivered, verdict.lost) == (1, 2)


def test_arrivals_of_other_jobs_are_only_counted():
    verdict = match([job()], [], [arrival(T, 1), arrival(T, 2, job_id=99)], to_s=T + 10)
    assert (verdict.delivered, verdict.arrivals_of_other_jobs) == (1, 1)


def test_percentiles():
    ordered = list(range(1, 101))
    assert [matching.percentile(ordered, share) for share in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert matching.percentile([7], 50) == 7 and matching.percentile([], 50) is None
