# SPDX-License-Identifier: MIT
"""tests/vectors/console, and what its steps take for granted of a dialect."""
import json
import os

import schemas

from .node import ROOT

VECTORS = os.path.join(ROOT, "tests", "vectors", "console")
FIRST_FAMILIES = {"A": "2.3", "B": "3.2", "C": "3.4", "D": "3.5"}
NATURAL = {family: max(dialect for dialect, first in FIRST_FAMILIES.items() if schemas.is_since(family, first))
           for family in schemas.FAMILIES}
COOKIES = {"A": "XXL_JOB_LOGIN_IDENTITY", "B": "xxl_job_login_token", "C": "xxl_job_login_token",
           "D": "xxl_job_login_token"}
NO_ROLE = "permission limit, current login-user does not have role:ADMIN"
JOB = {"jobGroup": "$g1", "jobDesc": "a job", "author": "me", "scheduleType": "CRON",
       "scheduleConf": "0 0 0 1 1 ? 2099", "misfireStrategy": "DO_NOTHING", "executorRouteStrategy": "FIRST",
       "executorBlockStrategy": "SERIAL_EXECUTION", "glueType": "BEAN", "executorHandler": "demoJobHandler"}
FIELDS = {
    "job": "id jobGroup jobDesc addTime updateTime author alarmEmail scheduleType scheduleConf misfireStrategy "
           "executorRouteStrategy executorHandler executorParam executorBlockStrategy executorTimeout "
           "executorFailRetryCount glueType glueSource glueRemark glueUpdatetime childJobId triggerStatus "
           "triggerLastTime triggerNextTime",
    "group": "id appname title addressType addressList updateTime registryList",
    "log": "id jobGroup jobId executorAddress executorHandler executorParam executorShardingParam "
           "executorFailRetryCount triggerTime triggerCode triggerMsg handleTime handleCode handleMsg alarmStatus",
    "user": "id username password role permission",
    "piece": "fromLineNum toLineNum logContent end",
    "chart": "triggerDayList triggerDayCountRunningList triggerDayCountSucList triggerDayCountFailList "
             "triggerCountRunningTotal triggerCountSucTotal triggerCountFailTotal",
}
DATES = ("addTime", "updateTime", "glueUpdatetime", "triggerTime", "handleTime")
DATE_FORMS = {
    "A": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00",
    "B": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00",
    "C": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
    "D": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
}
TABLES = ("xxl_job_info", "xxl_job_group", "xxl_job_user", "xxl_job_log", "xxl_job_logglue")


def load(name):
    with open(os.path.join(VECTORS, name), encoding="utf-8") as text:
        return json.load(text)


CALLS = load("calls.json")
MESSAGES = load("messages.json")


def path_of(call, dialect):
    """None where the dialect has no such call."""
    return CALLS[call]["ABCD".index(dialect)]


def fields_of(kind, dialect):
    names = FIELDS[kind].split()
    if dialect == "D":
        names = [{"jobDesc": "name", "title": "name"}.get(name, name) for name in names]
        if kind == "group":
            names.insert(5, "accessToken")
    if kind == "user" and dialect != "A":
        names.insert(3, "token")
    return names


def is_in_order(names, dialect, expected):
    """As declared; from 3.3.1 on the original sorts them."""
    return names == expected or (dialect in "CD" and names == sorted(expected))
