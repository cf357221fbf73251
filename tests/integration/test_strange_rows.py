# SPDX-License-Identifier: MIT
"""
Rows as no program of ours writes them, drawn from a seed: NULL where a column may be NULL, empty and large texts, marks
that are cut off, numbers and times at both ends. Every page is read and every thread passes over them. Nothing ends
the node, and nothing is answered with 5xx.
"""
import os
import random
import re
import time

import pytest

from harness.api_v1 import Caller, Document, load_calls
from harness.console import Player
from harness.console_data import NATURAL
from harness.console_site import Site
from harness.process import wait_until

ROWS = 40
SEED = 268241  # others by STRANGE_SEED in the environment
TABLES = (
    "xxl_job_group", "xxl_job_info", "xxl_job_log", "xxl_job_logglue", "xxl_job_registry", "xxl_job_log_report",
    "xxl_job_user", "shardwheel_job", "shardwheel_later", "shardwheel_alarm", "shardwheel_channel", "shardwheel_told",
    "shardwheel_removed", "shardwheel_audit", "shardwheel_role", "shardwheel_session", "shardwheel_token",
    "shardwheel_minute", "shardwheel_event",
)
BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
MARKS = (
    "<!--sw:1:", "<!--sw:", "<!--sw:s:", "<!--sw:s:1:2-->", "<!--sw:r:", "<!--sw:r:99999999999999999999-->",
    "<!--sw:l-->", "<!--sw:l", "<!--sw:-1:-1:-1-->", "<!--", "-->", "<br>", "<br>\uff1a",
)
WORDS = (
    "", " ", ",", ",,,", "0", "-1", "1", "1,2", "2147483648", "99999999999999999999", "*/* * * * * ?", "0 0 0 31 2 ?",
    "0/1 * * * * ?", "CRON", "FIX_RATE", "FIX_DELAY", "NONE", "BEAN", "GLUE_SHELL", "ROUND", "FAILOVER",
    "SHARDING_BROADCAST", "DO_NOTHING",
    "http://127.0.0.1:1/", "http://", "127.0.0.1:1", "http://127.0.0.1:1/,,http://[::1]:1", "0/1", "1/0", "-1/-1", "9/",
    "Europe/Berlin", "No/Where", "{}", "{\"a\":", "[", "[[[[", "null", "%s%n%s%n", "'\"<script>\\", "\u0001\u001f",
    "\U0001f600" * 20, "\u4e2d\u6587", "a" * 300, "a@b.c,@,a@", "read", "read,run,write,admin", "wecom", "feishu",
    "dingtalk", "webhook", "lark",
)
DATES = ("0000-00-00 00:00:00", "1000-01-01 00:00:00", "9999-12-31 23:59:59", "1970-01-01 00:00:00",
         "2038-01-19 03:14:08")


class Drawer:
    def __init__(self, tables, seed):
        self.tables = tables
        self.random = random.Random(seed)

    def text(self, column):
        draw = self.random.random()
        if draw < 0.25:
            mark = self.random.choice(MARKS) + self.random.choice(WORDS)
            value = mark[:self.random.randrange(len(mark) + 1)]
        elif draw < 0.28:
            value = "\u4e2d" * 100_000
        else:
            value = self.random.choice(WORDS)
        return value[:min(column["size"] // 4 or 1, 1_000_000) if "text" in column["type"] else column["size"]]

    def number(self, column):
        bits = BITS[column["type"]]
        low, high = (0, 2 ** bits - 1) if column["is_unsigned"] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return self.random.choice([low, high, 0, 1, min(200, high), min(500, high), self.random.randint(low, high),
                                   min(self.random.randint(1, 60), high)])

    def value(self, column):
        if column["is_nullable"] == "YES" and self.random.random() < 0.3:
            return None
        if column["type"] in BITS:
            return self.number(column)
        if column["type"] in ("datetime", "timestamp"):
            return self.random.choice(DATES[:-1] if column["type"] == "timestamp" else DATES)
        if "blob" in column["type"] or "binary" in column["type"]:
            return self.random.randbytes(min(column["size"], self.random.choice([0, 1, 16, 300])))
        return self.text(column)

    def columns(self, table):
        return self.tables.rows(
            "SELECT column_name AS name, data_type AS type, is_nullable, character_maximum_length AS size,"
            " column_type LIKE '%%unsigned%%' AS is_unsigned, extra LIKE '%%auto_increment%%' AS counts"
            " FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            (self.tables.database, table))

    def fill(self, table):
        """A row that breaks a unique key is left out."""
        columns = [column for column in self.columns(table) if not column["counts"]]
        names = ", ".join(f"`{column['name']}`" for column in columns)
        marks = ", ".join(["%s"] * len(columns))
        for _ in range(ROWS):
            values = [self.value(column) for column in columns]
            if table == "xxl_job_info":
                values = self.due(columns, values)
            self.tables.execute(f"INSERT IGNORE INTO {table} ({names}) VALUES ({marks})", values)

    def due(self, columns, values):
        """Half of the jobs run, soon."""
        names = [column["name"] for column in columns]
        if self.random.random() < 0.5:
            values[names.index("trigger_status")] = 1
            values[names.index("trigger_next_time")] = int(time.time() * 1000) + self.random.randrange(5000)
        return values


def ids_of(tables, table):
    return [row["id"] for row in tables.rows(f"SELECT id FROM {table} ORDER BY id DESC LIMIT {ROWS}")]


@pytest.mark.parametrize("family", ["2.3", pytest.param("3.4", marks=pytest.mark.asan), "3.5"])
def test_strange_rows_end_no_node_and_no_page(make_world, mariadb, family):
    seed = int(os.environ.get("STRANGE_SEED", SEED))
    site = Site(make_world(mariadb, family=family), language="en")
    tables = site.tables
    player = Player(site, NATURAL[family])
    caller = Caller(site, player)
    drawer = Drawer(tables, seed)
    tables.execute("SET sql_mode = ''")
    for table in TABLES:
        drawer.fill(table)

    wrong = []
    reads = [row for row in load_calls()["calls"] if row["call"].startswith("GET ")]
    values = {name: ids_of(tables, table) for name, table in (
        ("jobs", "xxl_job_info"), ("runs", "xxl_job_log"), ("groups", "xxl_job_group"), ("executors", "xxl_job_group"),
        ("users", "xxl_job_user"), ("channels", "shardwheel_channel"))}
    for row in reads:
        part = re.search(r"/v1/(\w+)", row["call"])
        ids = values.get(part[1], []) if part and "{id}" in row["call"] else [None]
        for row_id in ids or [None]:
            for who in ("all", "ann"):
                url = caller.url(row, path={"id": row_id} if row_id else None)
                answer = caller.send(who, row, url=url)
                if answer.status >= 500:
                    wrong.append(f"{url} as {who}: {answer.status} {answer.text[:300]}")
    assert not wrong, f"STRANGE_SEED={seed}: {len(wrong)} of them\n" + "\n".join(wrong[:20])
    wait_until(lambda: not tables.value(
        "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time BETWEEN 1 AND"
        " (UNIX_TIMESTAMP() - 5) * 1000"), 30, "no job that runs to be overdue")
    assert site.node.is_healthy()
