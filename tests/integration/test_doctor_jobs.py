# SPDX-License-Identifier: MIT
"""shardwheelctl doctor on a set-up with one job, group, user or executor that is not as it should be."""
import time

import pytest

from harness.doctor import examine
from harness.executors import Reply
from harness.process import free_ports

from test_doctor import rows, server, well  # noqa: F401: fixtures

NOWHERE = "http://127.0.0.1:9/"  # nobody is called
DAILY = {"schedule_type": "FIX_RATE", "schedule_conf": "86400"}


def as_datetime(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


@pytest.fixture
def scene(well):
    """The well world and a group with an address; what a test adds to it goes again."""
    tables = well.tables
    group = tables.add_group("doctor-app", [NOWHERE])
    yield well, group
    for table in ("xxl_job_info", "xxl_job_log", "xxl_job_registry", "xxl_job_logglue", "shardwheel_job",
                  "shardwheel_told"):
        tables.execute(f"DELETE FROM {table}")
    tables.execute("DELETE FROM xxl_job_group WHERE app_name LIKE 'doctor-%%'", ())


def job(world, group, name="stray", **columns):
    """A running job, of which nothing is wrong but what the columns say."""
    return world.tables.add_job(group, name, next_in=3600, **{**DAILY, **columns})


BROKEN = [
    ("job_cron_broken", {"schedule_type": "CRON", "schedule_conf": "0 0 25 * * ?"}),
    ("job_cron_over", {"schedule_type": "CRON", "schedule_conf": "0 0 0 1 1 ? 2020"}),
    ("job_schedule_none", {"schedule_type": "FIX_DELAY"}),
    ("job_rate_broken", {"schedule_conf": "0"}),
    ("job_next_far", {"schedule_type": "CRON", "schedule_conf": "0 * * * * ?"}),
    ("job_no_handler", {"executor_handler": " "}),
    ("job_no_source", {"glue_type": "GLUE_SHELL"}),
    ("job_glue_unknown", {"glue_type": "GLUE_RUBY", "glue_source": "puts 1"}),
    ("job_no_route", {"executor_route_strategy": None}),
    ("child_missing", {"child_jobid": "999999"}),
    ("child_illegal", {"child_jobid": "seven"}),
    ("job_no_group", {"job_group": 999999}),
]


@pytest.mark.asan
def test_a_job_that_cannot_do_what_it_should(scene):
    """One at a time: it alone is told, by its id and name."""
    world, group = scene
    for code, columns in BROKEN:
        stray = job(world, columns.pop("job_group", group), **columns)
        found = examine(world).only(code, "warning", f'{stray} "stray"', "(1)")
        assert found["where"] == "xxl_job_info"
        world.tables.execute("DELETE FROM xxl_job_info")
    job(world, group)
    assert examine(world).above("note") == []


def test_settings_of_ours(scene):
    world, group = scene
    stray = job(world, group, schedule_type="CRON", schedule_conf="0 0 0 1 1 ?")
    world.tables.insert("shardwheel_job", {"job_id": stray, "time_zone": "Mars/Olympus"})
    examine(world).only("job_zone_unknown", "warning", f'{stray} "stray"')
    world.tables.execute("UPDATE shardwheel_job SET time_zone = NULL, valid_until_s = %s", (int(time.time()) - 1,))
    examine(world).only("job_validity_over", "warning", f'{stray} "stray"')
    world.tables.execute("UPDATE xxl_job_info SET glue_type = 'GLUE_SHELL', glue_source = 'true'")
    world.tables.execute("UPDATE shardwheel_job SET valid_until_s = NULL")
    examine(world, keys={"shardwheel.glue": "bean-only"}).only("job_glue_off", "warning", f'{stray} "stray"')


def test_many_jobs_are_counted_and_some_named(scene):
    world, _ = scene
    ids = [job(world, 999999, f"stray {i} \N{SNOWMAN}" * 5) for i in range(23)]
    text = examine(world).only("job_no_group", "warning")["what"]
    assert "(23)" in text and "and 13 more" in text and f'{ids[9]} "' in text and f'{ids[10]} "' not in text


def test_children_in_a_circle(scene):
    world, group = scene
    first, second, third = [job(world, group, name) for name in ("one", "two", "three")]
    world.tables.execute("UPDATE xxl_job_info SET child_jobid = %s WHERE id = %s", (second, first))
    world.tables.execute("UPDATE xxl_job_info SET child_jobid = %s WHERE id = %s", (f"{first},{third}", second))
    text = examine(world).only("child_circle", "warning", f'{first} "one"', f'{second} "two"', "(2)")["what"]
    assert "three" not in text


def test_groups_without_an_address(scene):
    world, group = scene
    silent, empty = world.tables.add_group("doctor-silent"), world.tables.add_group("doctor-empty", [" "])
    assert examine(world).above("note") == []  # no job needs them
    job(world, silent)
    examine(world).only("group_silent", "warning", f"{silent} doctor-silent with 1")
    world.tables.execute("UPDATE xxl_job_info SET job_group = %s", (empty,))
    examine(world).only("group_empty", "warning", f"{empty} doctor-empty with 1")


def test_addresses(scene):
    world, group = scene
    url = world.tables.value("SELECT url FROM shardwheel_node")
    for code, address in [("address_unusable", "10.1.2.3:9999"), ("address_forbidden", "http://169.254.169.254:80/"),
                          ("address_of_node", url)]:
        world.tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id = %s", (address, group))
        examine(world).only(code, "warning", address.rstrip("/"), "doctor-app")
    world.tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id = %s", (NOWHERE, group))
    assert examine(world).above("note") == []  # one machine: executors may live beside the node
    with rows(world, ["INSERT INTO shardwheel_node SELECT 'elsewhere', 'node-b', 'http://10.1.2.3:8080', version, "
                      "started_ms, beat_ms + 3600000, clock_ms, 0, 0, -1, 1 FROM shardwheel_node"],
              ["DELETE FROM shardwheel_node WHERE incarnation = 'elsewhere'"]):
        found = examine(world).find("address_loopback")
        assert len(found) == 1 and "http://127.0.0.1:9 (doctor-app)" in found[0]["what"]

    for name in ("doctor-one", "doctor-two", "doctor-nobody"):
        world.tables.insert("xxl_job_registry", {
            "registry_group": "EXECUTOR", "registry_key": name, "registry_value": "http://127.0.0.1:8/",
            "update_time": as_datetime(time.time())})
        if name != "doctor-nobody":
            made = world.tables.add_group(name)
            world.tables.execute("UPDATE xxl_job_group SET address_list = 'http://127.0.0.1:8/' WHERE id = %s", (made,))
    seen = examine(world)
    seen.only("address_twice", "warning", "http://127.0.0.1:8", "doctor-two")
    assert "doctor-nobody" in seen.find("registry_unclaimed")[0]["what"]


def test_executors_that_were_asked(scene):
    world, group = scene
    good, refusing, strange = world.executor(), world.executor(), world.executor()
    refusing.replies["/beat"] = Reply({"code": 500, "msg": "The access token is wrong."})
    strange.replies["/beat"] = Reply(b"<html>It works!</html>")
    silent = f"http://127.0.0.1:{free_ports()}/"
    addresses = [executor.address for executor in (good, refusing, strange)] + [silent]
    world.tables.execute("UPDATE xxl_job_group SET address_list = %s WHERE id = %s", (",".join(addresses), group))
    assert examine(world).above("note") == [] and not good.requests

    seen = examine(world, "--ask-executors")
    assert seen.status == 1
    for code, address in [("executor_token", refusing.address), ("executor_strange", strange.address),
                          ("executor_silent", silent), ("executor_open", good.address)]:
        found = seen.find(code)
        assert len(found) == 1 and found[0]["level"] == "warning" and "(1)" in found[0]["what"], (code, str(seen))
        assert address.rstrip("/") + " (doctor-app)" in found[0]["what"]
    assert {request.path for request in good.requests} == {"/beat"}, "the scripted one notes what it knows alone"
    assert not good.runs()


def test_alarms_that_reach_nobody(scene):
    world, group = scene
    stray = job(world, group, alarm_email="ops@example.org")
    examine(world).only("alarm_mail_off", "warning", f'{stray} "stray"')
    mail = {"spring.mail.host": "127.0.0.1", "spring.mail.from": "me@example.org"}
    assert examine(world, keys=mail).above("note") == []
    world.tables.execute("UPDATE xxl_job_info SET alarm_email = 'ops@example.org, the other one'")
    examine(world, keys=mail).only("alarm_address_bad", "warning", f'{stray} "stray"')
    world.tables.execute("UPDATE xxl_job_info SET alarm_email = NULL")
    examine(world).only("alarm_nobody", "note")

    def tell(channel, error):
        world.tables.insert("shardwheel_told", {
            "at_ms": int(time.time() * 1000) - 3600000, "event": "job_failed", "job_id": stray, "log_id": 1,
            "app_name": "doctor-app", "channel": channel, "receiver": "", "title": "it failed", "error": error})

    for error in ("away", None, "status 403", "status 403"):
        tell("slack", error)
        tell("json", None)
    assert examine(world).above("note") == []  # a failure or two are no rule
    tell("slack", "status 403")
    examine(world).only("alarm_channel_failing", "warning", "channel slack", "last 3 messages", "60 min", "status 403")


def test_runs_that_fail_or_pile_up(scene):
    world, group = scene
    bad, fair = job(world, group, "bad"), job(world, group, "fair")
    for i in range(10):
        world.tables.add_log(bad, job_group=group, handle_code=500, alarm_status=1)
        world.tables.add_log(fair, job_group=group, handle_code=200 if i == 3 else 500, alarm_status=1)
    seen = examine(world)
    assert f'{bad} "bad"' in seen.only("runs_fail", "note", "(1)")["what"]
    world.tables.execute("DELETE FROM xxl_job_log")
    now_s = int(time.time())  # once: a second that begins meanwhile would give two of the rows one due time
    for i in range(10):  # one broadcast has many rows of one due time
        world.tables.add_log(fair, job_group=group, executor_sharding_param=f"{i}/10", executor_address=NOWHERE,
                             trigger_time=as_datetime(now_s))
        world.tables.add_log(bad, job_group=group, executor_address=NOWHERE, trigger_time=as_datetime(now_s - 60 - i))
    examine(world).only("runs_pile_up", "warning", f'{bad} "bad"', "(1)")


def test_going_back_and_what_is_left(scene):
    world, group = scene
    last = job(world, group, "last day", schedule_type="CRON", schedule_conf="0 0 0 1,L * ?")
    stray = job(world, group, glue_updatetime=None)
    world.tables.insert("shardwheel_job", {"job_id": stray, "hold_s": 60})
    world.tables.insert("xxl_job_logglue", {"job_id": 999999, "glue_remark": "of a job that is gone"})
    seen = examine(world)
    assert seen.above("note") == [] and seen.status == 0
    for code, word in [("back_schedule_old", f'{last} "last day"'), ("back_schedule_middle", f'{last} "last day"'),
                       ("back_row_open", f'{stray} "stray"'), ("back_settings", "going-back"),
                       ("leftovers", "1 of xxl_job_logglue")]:
        found = seen.find(code)
        assert len(found) == 1 and word in found[0]["what"], (code, str(seen))


USERS = [
    ("user_no_admin", ["UPDATE xxl_job_user SET role = 0 WHERE username = 'admin'"],
     ["UPDATE xxl_job_user SET role = 1 WHERE username = 'admin'"], "administrator"),
    ("user_no_password", ["INSERT INTO xxl_job_user (username, password, role) VALUES ('nobody', '', 0)"],
     ["DELETE FROM xxl_job_user WHERE username = 'nobody'"], '"nobody"'),
    ("user_role_unknown", ["INSERT INTO xxl_job_user (username, password, role) VALUES ('odd', 'x', 7)"],
     ["DELETE FROM xxl_job_user WHERE username = 'odd'"], '"odd"'),
]


@pytest.mark.parametrize("code, do, undo, word", USERS, ids=[user[0] for user in USERS])
def test_users(well, code, do, undo, word):
    with rows(well, do, undo):
        examine(well).only(code, "warning", word)


def test_tokens_of_the_interface(well):
    add = ("INSERT INTO shardwheel_token (hash, name, user_id, scopes, created_ms, expires_ms) "
           "SELECT '{0}', '{0}', id, 'read', {1}, {2} FROM xxl_job_user WHERE username = 'admin'")
    now = int(time.time() * 1000)
    year = 365 * 86400000
    with rows(well, [add.format("fresh", now, "NULL"), add.format("forgotten", now - year, "NULL"),
                     add.format("over", now - 1000, now - 500)], ["DELETE FROM shardwheel_token"]):
        seen = examine(well)
        assert seen.status == 0
        assert '"over"' in seen.find("token_expired")[0]["what"] and "(1)" in seen.find("token_expired")[0]["what"]
        assert '"forgotten"' in seen.find("token_unused")[0]["what"] and "(1)" in seen.find("token_unused")[0]["what"]


SECRETS = [
    ("secret_token_default", {"xxl.job.accessToken": "default_token"}),
    ("secret_token_empty", {"xxl.job.accessToken": ""}),
    ("secret_database_empty", {"spring.datasource.password": ""}),
]


def test_secrets_that_everybody_knows(well):
    for code, keys in SECRETS:
        seen = examine(well, keys=keys)
        key = next(iter(keys))
        assert [(f["level"], f["where"]) for f in seen.find(code)] == [("warning", key)], str(seen)
        assert "default_token" not in str(seen)
    with rows(well, ["UPDATE xxl_job_user SET password = SHA2('123456', 256)"],
              ["UPDATE xxl_job_user SET password = SHA2('no one knows it', 256)"]):
        examine(well).only("secret_users", "warning", "admin", "In all 1")
