# SPDX-License-Identifier: MIT
"""
A tiny executor on pyxxl, for tests: main.py ADMIN APPNAME PORT TOKEN LOGPATH

In a container LISTEN_HOST is 0.0.0.0, and EXECUTOR_URL how others reach it.
"""
import asyncio
import os
import sys

from pyxxl import ExecutorConfig, PyxxlRunner
from pyxxl.ctx import g

admin, app_name, port, token, log_path = sys.argv[1:]
os.makedirs(log_path, exist_ok=True)
app = PyxxlRunner(ExecutorConfig(
    xxl_admin_baseurl=f"{admin}/api/", executor_app_name=app_name, access_token=token,
    executor_listen_host=os.environ.get("LISTEN_HOST", "127.0.0.1"), executor_listen_port=int(port),
    executor_url=os.environ.get("EXECUTOR_URL", ""), executor_log_path=f"{log_path}/pyxxl.log", log_local_dir=log_path,
    dotenv_try=False,
))


@app.register(name="demoJobHandler")
async def demo():
    run = g.xxl_run_data
    return f"param={run.executorParams} shard={run.broadcastIndex}/{run.broadcastTotal}"


@app.register(name="failingJobHandler")
async def failing():
    raise ValueError("failing on purpose <&> \U0001F600")


@app.register(name="sleepingJobHandler")
async def sleeping():
    millis = int(g.xxl_run_data.executorParams)
    await asyncio.sleep(millis / 1000)
    return f"slept {millis} ms"


@app.register(name="loggingJobHandler")
async def logging():
    for i in range(1, int(g.xxl_run_data.executorParams) + 1):
        g.logger.info("line %d <&> \U0001F600", i)


app.run_executor()
