# SPDX-License-Identifier: MIT
"""
Every call of two published clients: main.py ADMIN TOKEN GROUP FOLDER
xxl-admin-sh speaks to the console, pyxxl to the executors' API. One line of JSON: what each call came to.
"""
import asyncio
import json
import sys

from pyxxl.xxl_client import XXL
from xxl_admin.client import XxlAdminClient

admin, token, group, folder = sys.argv[1:]
CRON = "0 0 0 1 1 ? 2099"


async def console():
    client = XxlAdminClient(admin, "admin", "123456", folder)
    came_to = {"login": await client.login()}
    came_to["list_group"] = [row["appname"] for row in await client.list_group(name="grp-")]
    came_to["add_job"] = await client.add_job(int(group), "by a client", "clientHandler", CRON, "client")
    job = (await client.search_job("clientHandler"))[0]
    came_to["search_job"] = [job["jobDesc"], job["author"], job["scheduleConf"], job["triggerStatus"]]
    number = job["id"]
    came_to["update_job"] = await client.update_job(number, int(group), "changed", "clientHandler", CRON, "other")
    came_to["start_job"] = await client.start_job(number)
    came_to["list_job"] = [(row["jobDesc"], row["triggerStatus"]) for row in await client.list_job(author="other")]
    came_to["stop_job"] = await client.stop_job(number)
    came_to["trigger_job"] = await client.trigger_job(number, "from afar")
    for _ in range(100):
        logs = await client.job_logs(number, int(group))
        if logs and logs[0]["triggerCode"]:
            break
        await asyncio.sleep(0.05)
    came_to["job_logs"] = [(row["jobId"] == number, row["triggerCode"], row["executorParam"]) for row in logs]
    came_to["trigger_job of nothing"] = await client.trigger_job(999999)
    await client.close()
    again = XxlAdminClient(admin, "admin", "not needed", folder)
    came_to["a second client has the cookie"] = len(await again.list_group(name="grp-"))
    await again.close()
    return came_to, logs[0]["id"]


async def api(log_id):
    client = XXL(f"{admin}/xxl-job-admin/api/", token=token)
    came_to = {"registry": await client.registry("grp-two", "http://127.0.0.1:9/")}
    await client.callback(log_id, 1700000000000, 200, "done by pyxxl")
    await client.registryRemove("grp-two", "http://127.0.0.1:9/")
    await client.close()
    return came_to


async def run():
    came_to, log_id = await console()
    came_to.update(await api(log_id))
    print(json.dumps(came_to))


asyncio.run(run())
