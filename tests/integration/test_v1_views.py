# SPDX-License-Identifier: MIT
"""Lists that users have saved by name: each his own, with bounds, gone with the user."""
import pytest

from harness.v1 import Api, add_token, add_user


class Site:
    def __init__(self, world):
        self.tables, self.node = world.tables, world.node()
        self.ids = {name: add_user(world.tables, name, role) for name, role in (("root", 1), ("ann", 0))}

    def caller(self, name, scopes="read,run,write,admin"):
        return Api(self.node, add_token(self.tables, self.ids[name], scopes))


@pytest.fixture
def site(make_world, mariadb):
    return Site(make_world(mariadb))


def test_a_view_is_saved_renamed_and_removed(site):
    admin, other = site.caller("root"), site.caller("ann")
    view = {"page": "jobs", "name": " night jobs ", "query": "tag=night&sort=failures"}
    first = admin.good("POST", "/views", view, status=201)["id"]
    runs = admin.good("POST", "/views", {**view, "page": "runs"}, status=201)["id"]
    theirs = other.good("POST", "/views", view, status=201)["id"]
    assert admin.good("GET", "/views?page=jobs")["items"] == [{**view, "id": first, "name": "night jobs"}]
    assert [item["id"] for item in admin.good("GET", "/views")["items"]] == [first, runs]

    admin.refused("POST", "/views", view, kind="taken", field="name")
    second = admin.good("POST", "/views", {**view, "name": "b"}, status=201)["id"]
    admin.refused("PATCH", f"/views/{second}", {"name": "night jobs"}, kind="taken", field="name")
    admin.good("PATCH", f"/views/{second}", {"name": "a", "query": ""}, status=204)
    admin.good("PATCH", f"/views/{second}", {"name": "a"}, status=204)
    assert [(item["name"], item["query"]) for item in admin.good("GET", "/views?page=jobs")["items"]] == [
        ("a", ""), ("night jobs", "tag=night&sort=failures")]

    for method, body in (("PATCH", {"name": "mine"}), ("DELETE", None)):
        admin.refused(method, f"/views/{theirs}", body, status=404, kind="unknown", field="id")
    reader = site.caller("root", "read")
    assert len(reader.good("GET", "/views")["items"]) == 3
    reader.refused("DELETE", f"/views/{first}", status=403)
    admin.good("DELETE", f"/views/{first}", status=204)
    admin.refused("DELETE", f"/views/{first}", status=404, kind="unknown", field="id")


def test_what_no_view_can_be(site):
    admin = site.caller("root")
    good = {"page": "jobs", "name": "a", "query": "x=1"}
    for change, field in (
            ({"page": "alarms"}, "page"), ({"page": None}, "page"), ({"name": "  "}, "name"),
            ({"name": "x" * 65}, "name"),
            ({"name": "a\nb"}, "name"), ({"query": "x" * 2001}, "query"), ({"query": "a\tb"}, "query"),
            ({"query": 1}, "query"), ({"color": "red"}, "color")):
        admin.refused("POST", "/views", {**good, **change}, field=field)
    for missing in good:
        admin.refused("POST", "/views", {name: v for name, v in good.items() if name != missing}, field=missing)
    for number in range(100):
        admin.good("POST", "/views", {**good, "name": f"{number}"}, status=201)
    admin.refused("POST", "/views", good, status=429, kind="limit")


def test_views_go_with_their_user(site):
    admin = site.caller("root")
    site.caller("ann").good("POST", "/views", {"page": "runs", "name": "a", "query": ""}, status=201)
    assert site.tables.value("SELECT COUNT(*) FROM shardwheel_view") == 1
    admin.good("DELETE", f"/users/{site.ids['ann']}", status=204)
    assert site.tables.value("SELECT COUNT(*) FROM shardwheel_view") == 0
