# SPDX-License-Identifier: MIT
"""Executor groups of api/v1 on a node that runs, with executors that beat. The consoles: test_console.py."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.cluster import TOKEN
from harness.process import wait_until
from harness.v1 import Api, add_token, add_user


class Site:
    def __init__(self, world):
        self.world = world
        self.tables = world.tables
        self.first = world.tables.add_group("first-app")
        self.node = world.node()
        ann = add_user(self.tables, "grp-ann", groups=[self.first])
        self.token = add_token(self.tables, add_user(self.tables, "grp-admin", role=1))
        self.admin = Api(self.node, self.token)
        self.ann = Api(self.node, add_token(self.tables, ann))

    def beat(self, app, address, path="/api/registry"):
        answer = self.node.post(path, {"registryGroup": "EXECUTOR", "registryKey": app, "registryValue": address},
                                token=TOKEN)
        assert answer.code == 200


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb, family="3.5"))


@pytest.mark.asan
def test_a_group_from_its_making_to_its_end(site):
    made = site.admin.call("POST", "/groups", {"appname": "made-app", "title": "Made <here>", "addressType": "manual",
                                               "addressList": ["http://10.0.0.1:9999/", "https://b:1"],
                                               "accessToken": "hidden-token"})
    assert made.status == 201 and "hidden" not in made.text
    group = made.json
    place = f"/groups/{group['id']}"
    assert made.headers["Location"] == "/api/v1" + place
    assert group["addressList"] == ["http://10.0.0.1:9999/", "https://b:1"] and group["hasAccessToken"]
    seen = site.admin.call("GET", place)
    assert seen.json == group and seen.headers["ETag"] == made.headers["ETag"]
    assert site.admin.call("GET", place, headers={"If-None-Match": seen.headers["ETag"]}).status == 304

    tag = {"If-Match": seen.headers["ETag"]}
    changed = site.admin.call("PATCH", place, {"title": "Again"}, headers=tag)
    now = changed.json
    assert changed.status == 200 and now == {**group, "title": "Again", "updateTime": now["updateTime"]}
    site.admin.refused("PATCH", place, {"title": "Late"}, status=412, kind="changed", headers=tag)
    site.admin.refused("DELETE", place, status=412, kind="changed", headers=tag)
    site.admin.refused("PATCH", place, {"addressType": "auto", "addressList": ["http://x/"]}, field="addressList")
    assert site.admin.good("PATCH", place, {"accessToken": None})["hasAccessToken"] is False
    assert site.tables.value("SELECT access_token FROM xxl_job_group WHERE id = %s", (group["id"],)) in (None, "")
    assert site.admin.call("DELETE", place, headers={"If-Match": changed.headers["ETag"]}).status == 204
    site.admin.refused("GET", place, status=404, kind="unknown", field="id")
    rows = site.tables.rows("SELECT who, via, action, after_json FROM shardwheel_audit WHERE target = %s ORDER BY id",
                            (group["id"],))
    assert [row["action"] for row in rows] == ["group.add", "group.update", "group.update", "group.remove"]
    assert rows[1]["after_json"] == '{"title":"Again"}' and "hidden" not in str(rows)


def test_what_is_refused(site):
    def refused(field, kind, **members):
        body = {"appname": "good-app", "title": "Good", **members}
        site.admin.refused("POST", "/groups", body, field=field, kind=kind)

    before = site.tables.value("SELECT COUNT(*) FROM xxl_job_group")
    refused("appname", "required", appname=" ")
    refused("appname", "length", appname="abc")
    refused("appname", "taken", appname="first-app")
    refused("appname", "invalid", appname="<script>x")
    refused("appname", "invalid", appname="nul\u0000app")
    refused("title", "length", title="x" * 65)
    refused("addressType", "invalid", addressType=1)
    refused("addressList", "required", addressType="manual")
    refused("addressList", "invalid", addressType="manual", addressList=["10.0.0.1:9999"])
    refused("addressList", "invalid", addressType="manual", addressList=["http://169.254.169.254/"])
    refused("addressList", "invalid", addressType="manual", addressList=["http://a/,http://b/"])
    refused("unknown", "invalid", unknown=1)
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_group") == before
    site.ann.refused("POST", "/groups", {"appname": "good-app", "title": "Good"}, status=403, kind="forbidden")
    site.ann.refused("PATCH", f"/groups/{site.first}", {"title": "Mine"}, status=403, kind="forbidden")


def test_people_see_their_groups(site):
    other = site.admin.good("POST", "/groups", {"appname": "other-app", "title": "Other"}, status=201)["id"]
    assert [group["id"] for group in site.ann.good("GET", "/groups")["items"]] == [site.first]
    site.ann.refused("GET", f"/groups/{other}", status=403, kind="forbidden")
    page = site.admin.good("GET", "/groups?limit=1&count=true")
    assert page["total"] >= 2 and page["totalIsEstimate"] is False
    behind = site.admin.good("GET", f"/groups?limit=1&after={page['next']}")
    assert behind["items"][0]["id"] > page["items"][0]["id"]
    assert [g["appname"] for g in site.admin.good("GET", "/groups?appname=her-a")["items"]] == ["other-app"]
    assert site.admin.good("GET", "/groups?appname=her_a")["items"] == []  # no wildcard
    job = site.tables.add_job(other, trigger_status=0)
    site.admin.refused("DELETE", f"/groups/{other}", status=409, kind="in-use")
    assert [item["id"] for item in site.admin.good("GET", f"/groups/{other}/jobs")["items"]] == [job]


def test_executors_and_the_tag_that_heartbeats_leave_alone(site):
    place = f"/groups/{site.first}"
    tag = site.admin.call("GET", place).headers["ETag"]
    site.beat("first-app", "http://127.0.0.1:7001/")
    site.beat("first-app", "http://127.0.0.1:7002/")
    wait_until(lambda: len(site.admin.good("GET", place)["addressList"]) == 2, 15, "both addresses in the list")
    assert site.admin.call("GET", place).headers["ETag"] == tag
    items = site.ann.good("GET", place + "/executors")["items"]
    assert [(item["address"], item["listed"], item["path"]) for item in items] == [
        ("http://127.0.0.1:7001/", True, "/run"), ("http://127.0.0.1:7002/", True, "/run")]
    assert all(item["lastBeat"] for item in items)
    by_hand = site.admin.good("PATCH", place, {"addressType": "manual", "addressList": ["http://127.0.0.1:7002/"]})
    assert by_hand["addressList"] == ["http://127.0.0.1:7002/"]
    assert [item["listed"] for item in site.admin.good("GET", place + "/executors")["items"]] == [False, True]
    again = site.admin.good("PATCH", place, {"addressType": "auto"})
    assert again["addressList"] == ["http://127.0.0.1:7001/", "http://127.0.0.1:7002/"]
    assert site.admin.good("GET", "/figures")["executors"] >= 1
    assert isinstance(site.admin.good("GET", "/figures/days?days=3")["items"], list)


def test_changes_at_once_lose_nothing(site):
    group = site.admin.good("POST", "/groups", {"appname": "busy-app", "title": "0"}, status=201)["id"]
    clients = [Api(site.node, site.token) for _ in range(8)]

    def change(i):
        members = {"title": str(i)} if i % 2 else {"accessToken": f"t{i}"}
        return clients[i % 8].call("PATCH", f"/groups/{group}", members)

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(change, range(1, 33)))
    assert {answer.status for answer in answers} <= {200, 409}
    done = [i for i, answer in zip(range(1, 33), answers) if answer.status == 200]
    row = site.tables.rows("SELECT name, access_token FROM xxl_job_group WHERE id = %s", (group,))[0]
    assert int(row["name"]) in done and int(row["access_token"][1:]) in done
    written = site.tables.value("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'group.update' AND target = %s",
                                (group,))
    assert written == len(done)

    with ThreadPoolExecutor(2) as threads:
        ends = list(threads.map(lambda api: api.call("DELETE", f"/groups/{group}").status, clients[:2]))
    assert sorted(ends) in ([204, 404], [204, 409])


def test_no_job_is_left_without_its_group(site):
    """A job is added while its group is removed: one of the two is refused."""
    clients = Api(site.node, site.token), Api(site.node, site.token)
    ends = set()
    for i in range(12):
        group = site.admin.good("POST", "/groups", {"appname": f"race-app-{i}", "title": "x"}, status=201)["id"]
        job = {"jobGroup": group, "name": "job", "author": "me", "scheduleType": "NONE", "glueType": "BEAN",
               "executorHandler": "demo", "executorRouteStrategy": "FIRST", "misfireStrategy": "DO_NOTHING",
               "executorBlockStrategy": "SERIAL_EXECUTION"}
        with ThreadPoolExecutor(2) as threads:
            added = threads.submit(clients[0].call, "POST", "/jobs", job)
            removed = threads.submit(clients[1].call, "DELETE", f"/groups/{group}")
        ends.add((added.result().status, removed.result().status))
    assert ends <= {(201, 409), (400, 204)}, ends
    assert site.tables.value("SELECT COUNT(*) FROM xxl_job_info WHERE job_group NOT IN (SELECT id FROM xxl_job_group)"
                             ) == 0
