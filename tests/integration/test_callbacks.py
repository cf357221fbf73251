# SPDX-License-Identifier: MIT
"""Results that executors report, in every form that exists, for rows that wait for one."""
import json
import threading

import pytest

from harness.cluster import TOKEN
from harness.executors import Reply, callback_entry


@pytest.fixture(scope="module")
def admin(make_module_world, mariadb):
    world = make_module_world(mariadb)
    return world.tables, world.node()


def post(node, body, path="/api/callback"):
    answer = node.post(path, body, TOKEN)
    assert answer.status == 200
    return answer


def result(tables, log_id):
    row = tables.log(log_id)
    return row["handle_code"], row["handle_msg"]


FORMS = {
    "2.2.0": lambda i: [{"logId": i, "logDateTim": 1, "executeResult": {"code": 200, "msg": "ok"}}],
    "2.3 to 3.4": lambda i: [{"logId": i, "logDateTim": 1, "handleCode": 200, "handleMsg": "ok"}],
    "3.5": lambda i: {"callbackList": [{"logId": i, "logDateTime": 1, "handleCode": 200, "handleMsg": "ok"}]},
    "Go": lambda i: [{"logId": i, "logDateTim": 1, "executeResult": {"code": 200, "msg": "ok"}, "handleCode": 200,
                      "handleMsg": "ok"}],
    "pyxxl": lambda i: [{"logId": i, "logDateTim": 1, "handleCode": 200, "handleMsg": "ok",
                         "executeResult": {"code": 200, "msg": "ok"}}],
    "unknown members": lambda i: [{"x": {"y": [1, None]}, "logId": i, "handleCode": 200, "handleMsg": "ok", "z": 1.5}],
}


@pytest.mark.asan
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", ["/api/callback", "/xxl-job-admin/api/callback"])
def test_form_is_understood_and_answered_for_every_executor(admin, form, path):
    tables, node = admin
    log_id = tables.add_log()

    answer = post(node, FORMS[form](log_id), path)

    assert answer.json["code"] == 200 and isinstance(answer.json["code"], int)
    assert {"content", "data"} <= set(answer.json) and answer.json["content"] is None and answer.json["data"] is None
    assert answer.json.get("msg") is None or isinstance(answer.json["msg"], str)
    assert answer.headers["Content-Type"].split(";")[0] == "application/json"
    assert answer.headers.get("Content-Encoding") is None
    # Answered means committed: there is nothing to wait for.
    assert result(tables, log_id) == (200, "ok")
    assert tables.log(log_id)["handle_time"] is not None


@pytest.mark.parametrize(
    "written, stored",
    [('"a \\u003c\\u003e\\u0026\\u003d\\u0027 b"', "a <>&=' b"), ('"\\ud83d\\ude00 \\u00fc"', "😀 ü"),
     ('"😀 ü\\n\\t"', "😀 ü\n\t"), ("null", ""), ("12", "12"), ('{"a": 1}', None), ('"it\'s \\\\ %s"', "it's \\ %s")],
)
def test_message_of_any_kind_is_stored_as_text(admin, written, stored):
    tables, node = admin
    log_id = tables.add_log()

    post(node, f'[{{"logId": {log_id}, "handleCode": 200, "handleMsg": {written}}}]'.encode())

    code, message = result(tables, log_id)
    assert code == 200
    if stored is None:  # an object: its text, with whatever blanks
        assert json.loads(message) == json.loads(written)
    else:
        assert (message or "") == stored


def test_message_may_be_absent(admin):
    tables, node = admin
    log_id = tables.add_log()

    post(node, [{"logId": log_id, "logDateTim": 1, "handleCode": 502}])

    assert result(tables, log_id)[0] == 502


def test_first_result_wins(admin):
    tables, node = admin
    log_id = tables.add_log()

    post(node, [callback_entry(log_id, 200, "first"), callback_entry(log_id, 500, "second")])
    assert post(node, [callback_entry(log_id, 500, "third")]).code == 200

    assert result(tables, log_id) == (200, "first")


@pytest.mark.asan
def test_result_sent_at_once_from_many_sides_is_stored_once(admin):
    tables, node = admin
    log_id = tables.add_log()
    answers = []
    threads = [
        threading.Thread(
            target=lambda i=i: answers.append(post(node, [callback_entry(log_id, 200, f"sender {i}")]).code))
        for i in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [200] * 10
    code, message = result(tables, log_id)
    assert code == 200 and message.count("sender") == 1


def test_lists_may_be_empty_or_hold_strangers(admin):
    tables, node = admin
    log_id = tables.add_log()

    assert post(node, []).code == 200
    assert post(node, [callback_entry(987654321), callback_entry(log_id)]).code == 200

    assert result(tables, log_id)[0] == 200


def test_code_zero_leaves_the_row_open_for_the_real_result(admin):
    tables, node = admin
    log_id = tables.add_log()

    assert post(node, [callback_entry(log_id, 0, "not yet")]).code == 200
    assert result(tables, log_id)[0] == 0
    post(node, [callback_entry(log_id, 200, "now")])

    assert result(tables, log_id)[0] == 200


@pytest.mark.parametrize("state", [{"trigger_code": 500}, {"trigger_code": 0}])
def test_result_counts_whatever_the_dispatch_said(admin, state):
    tables, node = admin
    log_id = tables.add_log(**state)

    post(node, [callback_entry(log_id, 200, "ran all the same")])

    assert result(tables, log_id) == (200, "ran all the same")


@pytest.mark.asan
def test_body_of_12_mb_with_long_messages(admin):
    tables, node = admin
    stack_trace = "at com.example.Überlauf(Überlauf.java:1)\n" * 30000
    log_ids = [tables.add_log() for _ in range(10)]
    body = [callback_entry(i, 500, stack_trace) for i in log_ids]
    assert 11_000_000 < len(json.dumps(body, ensure_ascii=False).encode()) < 15_000_000

    assert node.post("/api/callback", body, TOKEN, seconds=30).code == 200

    for log_id in log_ids:
        code, message = result(tables, log_id)
        assert code == 500
        assert message.startswith(stack_trace[:10000])
        assert len(message.encode("utf-16-le")) // 2 <= 15000


def test_thousands_of_results_in_one_body(admin):
    tables, node = admin
    log_ids = [tables.add_log() for _ in range(3000)]

    assert post(node, [callback_entry(i, 200, f"number {i}") for i in log_ids]).code == 200

    done = tables.rows(
        "SELECT id, handle_msg FROM xxl_job_log WHERE handle_code = 200 AND id BETWEEN %s AND %s",
        (log_ids[0], log_ids[-1]),
    )
    assert {row["id"]: row["handle_msg"] for row in done} == {i: f"number {i}" for i in log_ids}


@pytest.mark.asan
@pytest.mark.parametrize(
    "body", [b"", b"[", b'[{"logId": 1', b"hello", b'"text"', b"[1]", b'[{"logId": "x", "handleCode": 200}]',
             b"\xff\xfe\x00", b"[" * 100000],
    ids=["empty", "cut", "cut inside", "no JSON", "a string", "a number inside", "bad id", "no UTF-8", "deep"],
)
def test_nonsense_is_refused_and_harms_nothing(admin, body):
    tables, node = admin
    log_id = tables.add_log()

    assert post(node, body).code != 200
    assert post(node, [callback_entry(log_id)]).code == 200

    assert result(tables, log_id)[0] == 200


# What a row has before, the entries in their order (code, message, whether the member is there), what it has then.
ABSENT = object()
LINES = {
    "a result": ({}, [(200, "done")], (200, "done")),
    "no message is an empty text": ({}, [(200, ABSENT)], (200, "")),
    "null is an empty text": ({}, [(200, None)], (200, "")),
    "markup, quotes and line breaks stay": ({}, [(500, "<b>'\"\n\t</b>&amp;")], (500, "<b>'\"\n\t</b>&amp;")),
    "the first one wins": ({}, [(500, "a"), (200, "b")], (500, "a")),
    "any positive code is an end": ({}, [(7, "a"), (200, "b")], (7, "a")),
    "code 0 leaves the row open": ({}, [(0, "a")], (0, "a")),
    "after code 0 messages are joined": ({}, [(0, "a"), (200, "b")], (200, "a<br>b")),
    "after a negative code too": ({}, [(-1, "a"), (-2, "b"), (200, "c")], (200, "a<br>b<br>c")),
    "an empty one adds nothing but its break": ({}, [(0, "a"), (200, "")], (200, "a<br>")),
    "what stood there stays": ({"handle_msg": "so far"}, [(200, "now")], (200, "so far<br>now")),
    "an empty text that stood there does not": ({"handle_msg": ""}, [(200, "now")], (200, "now")),
    "a failed trigger takes it": ({"trigger_code": 500}, [(200, "ran")], (200, "ran")),
    "an early one": ({"trigger_code": 0, "trigger_msg": None}, [(200, "early")], (200, "early")),
    "one that has ended ignores it": ({"handle_code": 500, "handle_msg": "x"}, [(200, "y")], (500, "x")),
    "15,000 units stay": ({}, [(200, "x" * 15000)], (200, "x" * 15000)),
    "more are cut": ({}, [(200, "ü" * 15001)], (200, "ü" * 15000)),
    "a character is not cut": ({}, [(200, "x" + "😀" * 7500)], (200, "x" + "😀" * 7499)),
    "the whole is cut": ({"handle_msg": "ü" * 10}, [(200, "y" * 15000)], (200, "ü" * 10 + "<br>" + "y" * 14986)),
    "in units of UTF-16": ({}, [(0, "😀" * 10), (200, "y" * 15000)], (200, "😀" * 10 + "<br>" + "y" * 14976)),
}


@pytest.mark.parametrize("charset", ["utf8mb4", "utf8mb3"])
def test_every_line_of_the_completion(make_world, mariadb, charset):
    world = make_world(mariadb, charset=charset)
    tables, node = world.tables, world.node()

    lines = {name: line for name, line in LINES.items() if charset == "utf8mb4" or name != "in units of UTF-16"}

    def stored(text):  # an emoji is no character of utf8mb3
        return text.replace("😀", "?") if charset == "utf8mb3" else text

    for one_call in (True, False):
        for name, (columns, entries, (code, message)) in lines.items():
            log_id = tables.add_log(**{key: stored(value) if key == "handle_msg" else value
                                       for key, value in columns.items()})
            calls = [{"logId": log_id, "handleCode": sent, **({} if text is ABSENT else {"handleMsg": text})}
                     for sent, text in entries]
            for body in [calls] if one_call else [[call] for call in calls]:
                assert post(node, body).code == 200
            row = tables.log(log_id)
            assert (row["handle_code"], row["handle_msg"]) == (code, stored(message)), f"{name}, at once: {one_call}"
            assert (row["handle_time"] is None) == ("handle_code" in columns), name
            assert row["trigger_code"] == columns.get("trigger_code", 200), name
            assert row["alarm_status"] == 0


def test_result_before_the_answer_to_the_call_harms_nothing(make_world, mariadb):
    """The executor reports first and answers then: the row has both, whoever was first."""
    world = make_world(mariadb)
    tables = world.tables
    executor = world.executor()
    nodes = []
    executor.replies["early"] = Reply(
        before=lambda request: post(nodes[0], [callback_entry(request.logId, 200, "early")]))
    executor.replies["refused"] = Reply(
        {"code": 500, "msg": "no"},
        before=lambda request: post(nodes[0], [callback_entry(request.logId, 200, "ran all the same")]))
    group = world.group(executor)
    nodes.append(world.node())
    early, _ = tables.add_single_fire(group, 3, "early")
    refused, _ = tables.add_single_fire(group, 3, "refused", executor_fail_retry_count=1)

    row = tables.wait_logs(early, "trigger_code <> 0")[0]
    assert (row["trigger_code"], row["handle_code"], row["handle_msg"]) == (200, 200, "early")
    row = tables.wait_logs(refused, "trigger_code <> 0")[0]
    # It reported a success, so it had the job: with its callback the row says so, whatever the answer is then.
    assert (row["trigger_code"], row["handle_code"]) == (200, 200)
    assert row["handle_msg"] == "ran all the same" and row["alarm_status"] == 0
