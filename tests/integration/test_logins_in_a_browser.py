# SPDX-License-Identifier: MIT
"""The login page with a provider beside it, in a browser. The tasks are in web/e2e/logins."""
import pytest

from harness.browser import run_tasks
from harness.oidc import CLIENT, SECRET, Key, Provider
from harness.process import free_ports

pytestmark = pytest.mark.slow(60)


class LoginStage:
    def __init__(self, world, folder):
        port = free_ports()
        self.url = f"http://127.0.0.1:{port}/xxl-job-admin"
        self.provider = Provider(folder, [f"{self.url}/auth/oidc/callback"], [f"{self.url}/login"])
        self.provider.write_people(ann={"groups": ["ops"]}, eve={"groups": ["x"]})
        self.provider.start(Key("first"))
        world.node(keys={
            "server.port": port, "shardwheel.oidc.issuer": self.provider.issuer, "shardwheel.oidc.client-id": CLIENT,
            "shardwheel.oidc.client-secret": SECRET, "shardwheel.oidc.scopes": "openid profile groups",
            "shardwheel.login.mapping": "ops -> admin"})

    def describe(self, language, out):
        return {"nodes": [{"name": "node-a", "url": self.url}], "password": "123456", "group": {"id": 0, "appname": ""},
                "jobs": {}, "runs": {}, "users": {}, "language": language, "provider": self.provider.issuer, "out": out}


@pytest.fixture
def login_stage(world, tmp_path):
    stage = LoginStage(world, tmp_path)
    yield stage
    stage.provider.stop()


def test_logins(login_stage):
    run_tasks(login_stage, "zh-CN", ["logins/"], "logins")
