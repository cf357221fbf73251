# SPDX-License-Identifier: MIT
"""The image, carried out in a clean Debian, and the compose file, read as it stands."""
import os
import stat
import subprocess

import pytest
import yaml

from harness.image import Image
from harness.node import ROOT, Node
from harness.process import free_ports, wait_until
from test_packages import check_console, debian, folder, packages  # noqa: F401 fixtures

HERE = os.path.join(ROOT, "packaging", "docker")


@pytest.fixture(scope="session")
def compose():
    with open(os.path.join(HERE, "compose.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file)


def test_image_runs_a_node_of_the_compose_file(  # noqa: F811
        packages, debian, folder, compose, make_world, mariadb, zookeeper):
    context = os.path.join(folder, "context")
    os.makedirs(f"{context}/build")
    os.symlink(packages.folder, f"{context}/build/dist")
    os.symlink(os.path.join(ROOT, "packaging"), f"{context}/packaging")
    image = Image(debian, os.path.join(HERE, "Dockerfile"), context)
    assert image.base == "debian:12-slim"
    assert not os.path.exists(debian.path("/tmp/shardwheel")) and not os.listdir(debian.path("/var/lib/apt/lists"))

    # The service as it stands in the compose file; only the servers are ours, and the port.
    world = make_world(mariadb, zookeeper=zookeeper, create=False)
    service = compose["services"]["node-a"]
    env = {**service["environment"], "SERVER_PORT": str(free_ports()),
           "SHARDWHEEL_ZOOKEEPER_SERVERS": zookeeper.servers, "SHARDWHEEL_ZOOKEEPER_BASE_PATH": world.base_path}
    assert "//database:3306/xxl_job?" in env["SPRING_DATASOURCE_URL"]
    env["SPRING_DATASOURCE_URL"] = env["SPRING_DATASOURCE_URL"].replace(
        "//database:3306/xxl_job", f"//127.0.0.1:{mariadb.port}/{world.tables.database}")
    assert env["SPRING_DATASOURCE_USERNAME"] == mariadb.user
    secrets = dict(zip(service["secrets"], (mariadb.password, "the token of the test")))
    for name, value in secrets.items():
        debian.write(f"/run/secrets/{name}", f"{value}\n", 0o600)

    checked = image.exec(env, *image.healthcheck)
    assert (checked.returncode, checked.stdout.strip()) == (1, f"nobody listens on port {env['SERVER_PORT']}")
    node = Node("node-a", world.folder, {"server.port": env["SERVER_PORT"]})
    node.command, node.env = image.command(), {**image.env, **env}
    world.nodes.append(node)
    node.start(None)
    wait_until(lambda: node.running() and image.exec(env, *image.healthcheck).returncode == 0, 30,
               f"the health check to pass\n{node.tail()}")

    with open(f"/proc/{node.pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":\t", 1) for line in status)
    assert lines["Name"].strip() == "shardwheel" and "0" not in lines["Uid"].split() and lines["NoNewPrivs"] == "1\n"
    kept = os.stat(debian.path("/run/shardwheel/secrets/xxl.job.accessToken"))
    assert stat.S_IMODE(kept.st_mode) == 0o400 and kept.st_uid == int(lines["Uid"].split()[0])
    log = node.log_text()
    assert not any(value in log for value in secrets.values())
    beat = {"registryGroup": "EXECUTOR", "registryKey": "x", "registryValue": "http://127.0.0.1:9/"}
    assert node.post("/api/registry", beat, "the token of the test").code == 200
    assert node.post("/api/registry", beat, "another").code == 500
    check_console(node)

    entered = image.exec(env, *image.entrypoint, "sh", "-c", "id -un; echo $SPRING_CONFIG_IMPORT")
    assert entered.stdout.split() == ["shardwheel", "optional:configtree:/run/shardwheel/secrets/"], entered.stderr
    entered = image.exec(env, "setpriv", "--reuid", "65534", "--clear-groups", *image.entrypoint,
                         "sh", "-c", "id -u; echo $SPRING_CONFIG_IMPORT")  # as docker run --user
    assert entered.stdout.split() == ["65534", "configtree:/run/secrets/"], entered.stderr
    listed = image.exec(env, "shardwheelctl", "nodes")
    assert listed.returncode == 0 and "node-a" in listed.stdout, listed.stderr
    checked = image.exec({**env, "SERVER_SERVLET_CONTEXT_PATH": "/elsewhere"}, *image.healthcheck)
    assert checked.returncode == 1 and checked.stdout.startswith("404"), checked.stdout
    assert node.terminate(60) == 0, node.tail()


def test_install_takes_one_package(tmp_path):
    script = os.path.join(HERE, "install")
    for name in ("shardwheel_1_amd64.deb", "shardwheel_2_amd64.deb"):
        (tmp_path / name).touch()
    several = subprocess.run([script, str(tmp_path)], capture_output=True, text=True)
    assert several.returncode == 1 and "expected one package" in several.stderr and "_2_" in several.stderr
    none = subprocess.run([script, str(tmp_path / "none")], capture_output=True, text=True)
    assert none.returncode == 1 and "expected one package" in none.stderr


def test_secrets_are_made_once_and_closed(tmp_path):
    script = tmp_path / "make-secrets"
    with open(os.path.join(HERE, "make-secrets"), "rb") as source:
        script.write_bytes(source.read())
    script.chmod(0o755)
    made = []
    for _ in range(2):
        subprocess.run([script], check=True)
        files = sorted((tmp_path / "secrets").iterdir())
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
        made.append({file.name: file.read_text() for file in files})
    assert made[0] == made[1] and len(set(made[0].values())) == 3 and all(len(v) > 20 for v in made[0].values())


def test_compose_file_refers_to_what_there_is(compose):
    with open(os.path.join(HERE, "make-secrets"), encoding="utf-8") as file:
        made = file.read().split("for name in ")[1].split(";")[0].split()
    assert sorted(compose["secrets"]) == sorted(made)
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    services = compose["services"]
    assert len([name for name in services if name.startswith("node-")]) == 2
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert len(ports) == len({port.rsplit(":", 1)[0] for port in ports}) == 2
    for name, service in services.items():
        assert "build" in service or ":" in service["image"], f"{name}: an image without a version"
        assert set(service.get("depends_on", ())) <= set(services), name
        assert set(service.get("secrets", ())) <= set(compose["secrets"]), name
        for key, value in service["environment"].items():
            if key.endswith("_FILE"):
                assert os.path.basename(value) in service["secrets"], f"{name}: {key}"
        for volume in service.get("volumes", ()):
            assert volume.split(":")[0] in compose["volumes"], name
        if "build" in service:
            context = os.path.normpath(os.path.join(HERE, service["build"]["context"]))
            assert os.path.isdir(context), f"{name}: {context}"
            dockerfile = os.path.normpath(os.path.join(context, service["build"]["dockerfile"]))
            assert os.path.dirname(dockerfile) == HERE and os.path.isfile(dockerfile), f"{name}: {dockerfile}"
    ensemble = [services[f"zookeeper-{number}"]["environment"] for number in (1, 2, 3)]
    assert [one["ZOO_MY_ID"] for one in ensemble] == [1, 2, 3] and len({one["ZOO_SERVERS"] for one in ensemble}) == 1
    for server in services["node-a"]["environment"]["SHARDWHEEL_ZOOKEEPER_SERVERS"].split(","):
        host, port = server.split(":")
        assert host in services and f"={host}:2888:3888;{port}" in ensemble[0]["ZOO_SERVERS"]
