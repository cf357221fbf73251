# SPDX-License-Identifier: MIT
"""Flows of the place: what is in them, runs of the last weeks, and one that waits for a person."""
import time

from harness.v1 import Api, add_token

DAY = 86400


def documents(jobs):
    report = {
        "name": "daily-report", "description": "Figures of all shops, looked at by a person before they are sent",
        "parameters": [{"name": "region", "default": "cn"}],
        "steps": [
            {"name": "orders", "type": "job", "jobId": jobs["sync"],
             "param": "date=${due-1d:yyyy-MM-dd} ${flow.region}"},
            {"name": "shops", "type": "map", "jobId": jobs["fraud"], "items": "steps.orders.result/shops",
             "parallel": 4, "param": "date=${due-1d:yyyy-MM-dd} ${item}"},
            {"name": "parcels", "type": "broadcast", "jobId": jobs["parcels"]},
            {"name": "invoices", "type": "job", "jobId": jobs["export"], "param": "date=${due-1d:yyyy-MM-dd}"},
            {"name": "invoices-later", "type": "job", "jobId": jobs["dunning"]},
            {"name": "agree", "type": "approval", "text": "Send the figures of ${steps.orders.result/orders} orders?"},
            {"name": "send", "type": "job", "jobId": jobs["mail"]},
            {"name": "archive", "type": "job", "jobId": jobs["archive"]}],
        "edges": [
            {"from": "orders", "to": "shops"}, {"from": "orders", "to": "parcels"},
            {"from": "orders", "to": "invoices",
             "when": {"all": [{"path": "steps.orders.result/orders", "is": ">", "value": 0}]}},
            {"from": "invoices", "to": "invoices-later", "on": "failure"},
            {"from": "shops", "to": "agree"}, {"from": "parcels", "to": "agree", "on": "end"},
            {"from": "agree", "to": "send"}, {"from": "agree", "to": "archive", "on": "end"}],
        "schedule": {"cron": "0 30 5 * * ?", "zone": "Asia/Shanghai"}, "deadline": 7200, "tags": ["nightly", "finance"]}
    restock = {
        "name": "restock", "description": "Orders from suppliers what runs out",
        "steps": [{"name": "count", "type": "job", "jobId": jobs["stock"]},
                  {"name": "order", "type": "job", "jobId": jobs["price"]}],
        "edges": [{"from": "count", "to": "order"}],
        "schedule": {"cron": "0 0 0/2 * * ?", "zone": "Asia/Shanghai"}, "tags": ["inventory"]}
    month = {
        "name": "month-end", "description": "Closes the books of a month",
        "steps": [{"name": "close", "type": "job", "jobId": jobs["ledger"]},
                  {"name": "agree", "type": "approval", "text": "Are the books right?"},
                  {"name": "publish", "type": "job", "jobId": jobs["mail"]}],
        "edges": [{"from": "close", "to": "agree"}, {"from": "agree", "to": "publish"}], "tags": ["finance"]}
    return report, restock, month


def add_runs(tables, flow, every, length, failed):
    """The last 19 runs before today's, by schedule; `failed`: counted from the newest."""
    now = int(time.time())
    for back in range(19, 0, -1):
        began = now - now % every - back * every
        tables.insert("shardwheel_flow_run", {
            "flow_id": flow, "version": 1, "state": 3 if back in failed else 2, "kind": "C", "due_s": began, "depth": 0,
            "who": "", "created_ms": began * 1000, "started_ms": began * 1000 + 180, "late_told": 0,
            "ended_ms": (began + length + back % 5 * 7) * 1000})


def add_flows(node, place):
    """The flow of the pictures, and its run that waits."""
    token = add_token(place.tables, place.users["ann"], "read,write,run")
    api = Api(node, token)
    made = [api.good("POST", "/flows", {"document": one}, status=201)["id"] for one in documents(place.jobs)]
    add_runs(place.tables, made[0], DAY, 410, {3, 11})
    add_runs(place.tables, made[1], 7200, 35, {8})
    for flow in made[:2]:
        api.good("POST", f"/flows/{flow}/start")
    run = api.good("POST", f"/flows/{made[0]}/runs", {}, status=201)["id"]
    place.tables.execute("DELETE FROM shardwheel_token WHERE name = %s", (token[4:12],))
    return {"id": made[0], "run": run}
