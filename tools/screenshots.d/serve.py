# SPDX-License-Identifier: MIT
"""Puts the place up, has the browser take the pictures, makes them small, and takes it down."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests", "integration"), os.path.dirname(os.path.abspath(__file__))]
os.environ["TZ"] = "UTC"
time.tzset()

from executor import Executor  # noqa: E402
from flows import add_flows  # noqa: E402
from harness import databases  # noqa: E402
from harness.cluster import World  # noqa: E402
from harness.process import wait_until  # noqa: E402
from harness.zookeeper import ZooKeeper  # noqa: E402
from place import PASSWORD, Place  # noqa: E402


def put_up(world, place):
    nodes = []
    for name in ("node-a", "node-b"):
        nodes.append(world.node(name, environment={"TZ": "Asia/Shanghai"}, keys={
            "shardwheel.time-zone": None, "xxl.job.logretentiondays": 60}))
        if len(nodes) == 1:
            place.add_past()
    place.add_minutes()
    for app, addresses in place.addresses.items():
        if addresses:
            Executor(nodes[0].port, app, addresses)
    wait_until(lambda: world.tables.value("SELECT COUNT(*) FROM xxl_job_group WHERE address_list <> ''") == 3, 60,
               "executors to be listed")
    return nodes


def run_by_hand(node, place):
    """The long run that is under way in the pictures."""
    from harness.v1 import Api, add_token
    token = add_token(place.tables, place.users["lin"], "read,run")
    made = Api(node, token).call("POST", f"/jobs/{place.jobs['rebuild']}/trigger", {})
    assert made.status < 300, made
    place.tables.execute("DELETE FROM shardwheel_token WHERE name = %s", (token[4:12],))


def take(nodes, place, names):
    run_by_hand(nodes[0], place)
    flow = add_flows(nodes[0], place)
    time.sleep(float(os.environ.get("SW_WAIT", "60")))  # so that a minute of the live nodes is in the strip, too
    out = os.path.join(TOP, "docs", "screenshots")
    os.makedirs(out, exist_ok=True)
    made = tempfile.mkdtemp(prefix="shots-")
    scene = {"url": f"{nodes[0].url}/xxl-job-admin", "user": "ann", "password": PASSWORD, "jobs": place.jobs,
             "flow": flow, "skippedAt": place.outage + 300, "out": made, "only": names}
    env = {**os.environ, "SW_SCENE": json.dumps(scene)}
    script = os.path.join(TOP, "web", "scripts", "screenshots.mjs")
    subprocess.run([os.path.join(TOP, "tools", "web"), "node", script], env=env, check=True)
    for name in sorted(os.listdir(made)):
        subprocess.run(["pngquant", "--force", "--speed", "1", "--quality", "60-95", "--strip", "--output",
                        os.path.join(out, name), os.path.join(made, name)], check=True)
    shutil.rmtree(made)
    if os.environ.get("SW_HOLD"):
        print(nodes[0].url, flush=True)
        while os.path.exists(os.environ["SW_HOLD"]):
            time.sleep(1)


def main():
    template = databases.mariadb_template()
    server, zookeeper = databases.start_mariadb(template), ZooKeeper().start()
    folder = tempfile.mkdtemp(prefix="place-")
    world = World(server, folder, zookeeper)
    try:
        place = Place(world.tables)
        take(put_up(world, place), place, sys.argv[1:])
    finally:
        world.close()
        zookeeper.stop()
        server.stop()
        for path in (template, server.folder, folder):
            shutil.rmtree(path, ignore_errors=True)


main()
