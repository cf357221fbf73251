# SPDX-License-Identifier: MIT
"""https executors: whose certificate is taken, ours where they ask for it, and what the row says else."""
import signal

import pytest

from harness.certificates import Authority, server_context
from harness.process import free_ports, wait_until

REFUSED = "trigger_code = 500"
CERTIFICATE = "not sent: the executor&#39;s certificate is refused: "


class Fleet:
    """A node that trusts one authority, and executors with certificates of all kinds."""

    def __init__(self, world):
        self.world = world
        ours = Authority(world.folder, "ours")
        other = Authority(world.folder, "other")
        good = server_context(ours.issue("good", "127.0.0.1", "localhost"))
        contexts = {
            "good by IP": (good, "127.0.0.1"),
            "good by name": (good, "localhost"),
            "of another host": (server_context(ours.issue("elsewhere", "10.9.8.7")), "127.0.0.1"),
            "expired": (server_context(ours.issue("expired", "127.0.0.1", days=-1)), "127.0.0.1"),
            "of another authority": (server_context(other.issue("foreign", "127.0.0.1")), "127.0.0.1"),
            "asks for ours": (server_context(ours.issue("asking", "127.0.0.1"), clients=other.ca), "127.0.0.1"),
        }
        self.executors = {name: world.executor(tls=tls, host=host) for name, (tls, host) in contexts.items()}
        plain = world.executor()
        plain.address = plain.address.replace("http://", "https://")
        self.executors["speaks no TLS"] = plain
        self.groups = {name: world.group(executor) for name, executor in self.executors.items()}
        self.files = {"ca": ours.ca, "cert": other.issue("admin"), "stranger": ours.issue("stranger")}
        self.path = f"{world.folder}/tls.properties"
        self.port = free_ports()
        self.write({"ca": self.files["ca"], "cert": self.files["cert"]})
        self.node = world.node_from_file(self.path, self.port)

    def write(self, tls):
        lines = [f"{key}={value}" for key, value in {**self.world.keys(), "server.port": self.port}.items()]
        lines += [f"shardwheel.executor.tls.{key}={value}" for key, value in tls.items()]
        with open(self.path, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")

    def reload(self, tls):
        self.write(tls)
        before = self.node.log_text().count("event=reloaded")
        self.node.signal(signal.SIGHUP)
        wait_until(lambda: self.node.log_text().count("event=reloaded") > before, 10, "the settings to be read again")

    def fire(self, name, **columns):
        return self.world.tables.add_single_fire(self.groups[name], 2, **columns)[0]


@pytest.fixture(scope="module")
def fleet(make_module_world, mariadb):
    return Fleet(make_module_world(mariadb))


def test_certificates_are_verified_and_the_row_says_why_not(fleet):
    expected = {
        "good by IP": None, "good by name": None, "asks for ours": None,
        "of another host": CERTIFICATE + "SSL: no alternative certificate subject name matches target host name",
        "expired": CERTIFICATE + "SSL certificate problem: certificate has expired",
        "of another authority": CERTIFICATE + "SSL certificate problem: unable to get local issuer certificate",
        "speaks no TLS": "not sent: the TLS handshake failed: ",
    }
    jobs = {name: fleet.fire(name) for name in expected}
    asked = fleet.fire("asks for ours", executor_route_strategy="FAILOVER")

    for name, reason in expected.items():
        where = "trigger_code <> 0"
        if reason:
            row = fleet.world.tables.wait_logs(jobs[name], where)[0]
            assert row["trigger_code"] == 500 and reason in row["trigger_msg"], (name, row["trigger_msg"])
            assert not fleet.executors[name].runs()
        else:
            fleet.executors[name].wait_runs(jobs[name])
    fleet.executors["asks for ours"].wait_runs(asked)


def test_settings_are_read_again(fleet):
    fleet.reload({"verify": "off", "cert": fleet.files["stranger"]})
    jobs = {name: fleet.fire(name) for name in ("expired", "of another host", "of another authority", "asks for ours")}

    for name in ("expired", "of another host", "of another authority"):
        fleet.executors[name].wait_runs(jobs[name])
    row = fleet.world.tables.wait_logs(jobs["asks for ours"], REFUSED)[0]
    # With the alert, unless the reset behind it was faster.
    assert "the connection ended without an answer" in row["trigger_msg"], row["trigger_msg"]
    assert "may have taken it" in row["trigger_msg"], row["trigger_msg"]
    assert not fleet.executors["asks for ours"].runs(jobs["asks for ours"])

    fleet.reload({})  # the system's authorities know ours not
    row = fleet.world.tables.wait_logs(fleet.fire("good by IP"), REFUSED)[0]
    assert CERTIFICATE in row["trigger_msg"]


@pytest.mark.parametrize("settings, reason", [
    ({"ca": "/no/such.pem"}, "shardwheel.executor.tls.ca: cannot read /no/such.pem: No such file"),
    ({"key": "/no/such.pem"}, "shardwheel.executor.tls.key needs shardwheel.executor.tls.cert"),
])
def test_settings_that_cannot_be_used_are_told(fleet, settings, reason):
    fleet.write(settings)
    before = fleet.node.log_text().count("event=tls_kept")
    fleet.node.signal(signal.SIGHUP)
    wait_until(lambda: fleet.node.log_text().count("event=tls_kept") > before, 10, "the refusal")
    assert reason in fleet.node.log_text()
