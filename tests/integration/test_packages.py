# SPDX-License-Identifier: MIT
"""The packages as people get them: made by tools/package, looked at, installed in a clean Debian, upgraded, removed."""
import fcntl
import glob
import gzip
import os
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from harness.debian_root import DebianRoot
from harness.node import ROOT, Node, binary, environment, run_shardwheel
from harness.process import free_ports, wait_until

SETTINGS = "/etc/shardwheel/shardwheel.properties"
UNIT = "/lib/systemd/system/shardwheel.service"
NEWER = "9.9.9-1"
# systemd as the scripts of a package see it: writes down what it is asked, and stops a node as systemd does.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/run/systemctl.log
case "$1" in
list-units)
    echo "shardwheel.service loaded active running shardwheel job-scheduling centre"
    echo "shardwheel@b.service loaded active running shardwheel job-scheduling centre, node b"
    ;;
stop | try-restart)
    if [ "$2" = shardwheel.service ] && [ -f /run/node.pid ]; then
        kill -TERM "$(cat /run/node.pid)"
        while [ -d "/proc/$(cat /run/node.pid)" ] && ! grep -q ^State:.Z "/proc/$(cat /run/node.pid)/status"; do
            sleep 0.1
        done
    fi
    ;;
esac
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def check_console(node):
    """Its page, and the scripts that the page names."""
    place = node.get("/").headers["Location"]
    page = node.get(f"/{place}")
    assert '<div id="app">' in page.text, page
    script = re.search(r'src="[^"]*?(/assets/[^"]+\.js)"', page.text)[1]
    assert node.get(script).status == 200


class Packages:
    def __init__(self, folder):
        self.folder = folder
        self.deb, = glob.glob(f"{folder}/shardwheel_*.deb")
        self.symbols, = glob.glob(f"{folder}/shardwheel-dbgsym_*.deb")
        self.archive, = glob.glob(f"{folder}/shardwheel-*.tar.gz")

    def upgrade(self, folder):
        """The same package with a higher version and another line in its settings, as the next release may have."""
        tree = os.path.join(folder, "tree")
        run("dpkg-deb", "-R", self.deb, tree)
        for path, old, new in (("DEBIAN/control", r"(?m)^Version: .*", f"Version: {NEWER}"),
                               (SETTINGS[1:], r"\A", "# A line of the next release.\n")):
            with open(os.path.join(tree, path), "r+", encoding="utf-8") as file:
                text = re.sub(old, new, file.read())
                file.seek(0)
                file.write(text)
        run("dpkg-deb", "-Zgzip", "-b", tree, folder)
        shutil.rmtree(tree)
        return glob.glob(f"{folder}/*.deb")[0]


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Made once, whichever process comes first."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packages"
    with open(f"{shared}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            made = tempfile.mkdtemp(dir=shared.parent)
            run("tools/package", "--built", "--out", made, cwd=ROOT)
            os.rename(made, shared)
    return Packages(str(shared))


@pytest.fixture
def folder():
    """Not below pytest's own, which other users may not enter."""
    path = tempfile.mkdtemp(prefix="swpkg-")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def debian(packages, folder):
    root = DebianRoot.unpack(packages.deb, os.path.join(folder, "root"))
    yield root
    root.remove()


# ---- what is in them ----------------------------------------------------------------------------------------------


def test_lintian_has_nothing_to_say(packages):
    done = subprocess.run(["lintian", "--pedantic", "--display-info", "--fail-on", "error,warning,info,pedantic",
                           packages.deb, packages.symbols], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


def test_man_pages_and_completion_know_what_the_program_knows(packages, folder):
    run("dpkg-deb", "-x", packages.deb, folder)
    pages = {}
    for path in glob.glob(f"{folder}/usr/share/man/man*/*"):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Pcat", path], text=True,
                              capture_output=True, env={**os.environ, "MANWIDTH": "80"})
        assert done.returncode == 0 and not done.stderr, f"{path}: {done.stderr}"
        with gzip.open(path, "rt", encoding="utf-8") as page:
            pages[os.path.basename(path)] = page.read().replace("\\", "")
    assert sorted(pages) == ["shardwheel.8.gz", "shardwheel.properties.5.gz", "shardwheelctl.1.gz"]
    keys = re.findall(r"(?m)^([a-z][^\s=]*)=", run_shardwheel(["--help-config"]).stdout)
    assert [key for key in keys if f"\n.B {key}\n" not in pages["shardwheel.properties.5.gz"]] == []
    usage = run_shardwheel(["ctl", "not-a-command"]).stderr
    commands = re.split(r", | or ", re.search(r"expected (jobs.*?)(?:;|\"|$)", usage)[1])
    assert [name for name in commands if f"\n.B {name}" not in pages["shardwheelctl.1.gz"]] == []
    cut = [line for line in pages["shardwheelctl.1.gz"].splitlines() if line.startswith(".B ") and
           line.count("[") != line.count("]")]
    assert not cut, "a command and what it does are cut at the wrong place"

    for line, answers in COMPLETED.items():
        assert complete_in_bash(folder, line) == answers, line
        assert complete_in_zsh(folder, line) == answers, line
    assert set(complete_in_bash(folder, "shardwheelctl ")) == set(commands)
    assert set(complete_in_zsh(folder, "shardwheelctl ")) == set(commands)
    listed = complete_in_bash(folder, "shardwheel --")
    assert [key for key in keys if f"--{key}=" not in listed] == []


COMPLETED = {
    "shardwheelctl undr": ["undrain"],
    "shardwheelctl drain --fo": ["--force"],
    "shardwheelctl set-job 7 --retry": ["--retry-wait", "--retry-wait-max"],
    "shardwheelctl reshard ": ["--wait", "cancel"],
    "shardwheelctl flow from": ["from-children"],
    "shardwheelctl flow run-": ["run-show"],
    "shardwheel ctl nodes --js": ["--json"],
    "shardwheel stand": ["standalone"],
    "shardwheel --shardwheel.lock": ["--shardwheel.lock.max-hold="],
    "shardwheel --shardwheel.coordination=z": ["zookeeper"],
}


def complete_in_bash(folder, line):
    script = ('. "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMPREPLY=(); _shardwheel; printf "%s\\n" "${COMPREPLY[@]}"')
    file = f"{folder}/usr/share/bash-completion/completions/{line.split()[0]}"
    return sorted(run("bash", "--norc", "-c", script, "bash", file, line).split())


def complete_in_zsh(folder, line):
    """With a stand-in for compadd, which takes words only from a widget."""
    script = """
        compadd() {
            local suffix= names=
            while [[ $1 == -* && $1 != -- ]]; do
                case $1 in -S) suffix=$2; shift ;; -a) names=1 ;; esac
                shift
            done
            [[ $1 != -- ]] || shift
            local -a found=("$@")
            [[ -z $names ]] || found=(${(P)1})
            (( ! $#found )) || print -rl -- ${^found}$suffix
        }
        compset() { words[CURRENT]=${words[CURRENT]#*=} }
        words=(${=2})
        [[ $2 != *' ' ]] || words+=('')
        CURRENT=$#words
        eval "$(<$1)"
        print -r -- "last ${words[CURRENT]}"
    """
    out = run("zsh", "-f", "-c", script, "zsh", f"{folder}/usr/share/zsh/vendor-completions/_shardwheel", line)
    *words, last = out.splitlines()
    return sorted(word for word in words if word.startswith(last.removeprefix("last ")))


def test_the_archive_runs_from_any_folder(packages, world, folder):
    run("tar", "-C", folder, "-xzf", packages.archive)
    home = f"{folder}/somewhere else"
    os.rename(glob.glob(f"{folder}/shardwheel-*")[0], home)
    with open(f"{home}/conf/shardwheel.properties", "a", encoding="utf-8") as settings:
        settings.writelines(f"{key}={value}\n" for key, value in world.keys().items())
    node = Node("unpacked", folder, {}, ["--config", f"{home}/conf/shardwheel.properties"])
    node.command[0] = f"{home}/bin/shardwheel"
    world.nodes.append(node)
    node.start()
    check_console(node)
    told = run(f"{home}/bin/shardwheelctl", "nodes", "--config", f"{home}/conf/shardwheel.properties",
               env=environment(), cwd="/")
    assert "unpacked" in told


# ---- the life of the package --------------------------------------------------------------------------------------


class Service:
    """The node of the unit, started as systemd would: its command and user, secrets handed out, and told when ready."""

    def __init__(self, debian, world, secrets):
        unit = debian.read(UNIT)
        setting = dict(re.findall(r"(?m)^(\w+)=(.*)$", unit))
        assert setting["LoadCredential"] == "shardwheel:/etc/shardwheel/secrets" and setting["Type"] == "notify"
        self.debian = debian
        self.notified = f"shardwheel-test-{os.getpid()}"
        self.credentials = "/run/credentials/shardwheel.service"
        debian.sh(f"install -d -m 0500 -o shardwheel {self.credentials}")
        for key in secrets:
            debian.sh('install -m 0400 -o shardwheel "/etc/shardwheel/secrets/$1" "$2/shardwheel_$1"', key,
                      self.credentials)
        self.node = Node("node-a", world.folder, {})
        user = setting["User"]
        self.node.command = debian.command(
            "env", f"--chdir={setting['WorkingDirectory']}", "setpriv", "--reuid", user, "--regid", setting["Group"],
            "--init-groups", "--no-new-privs", *setting["ExecStart"].split())
        self.node.env = {**environment(), "CREDENTIALS_DIRECTORY": self.credentials,
                         "NOTIFY_SOCKET": f"@{self.notified}"}
        world.nodes.append(self.node)

    def start(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(f"\0{self.notified}")
            told.settimeout(60)
            self.node.start(60)
            while "READY=1" not in told.recv(4096).decode().split():
                pass
        self.debian.write("/run/node.pid", str(self.node.pid))
        check_console(self.node)
        return self.node


def install(debian, package):
    """Settings that were changed stay: what apt takes for the answer to its question where nobody can answer."""
    return debian.run("apt-get", "-q", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confdef",
                      "-o", "Dpkg::Options::=--force-confold", "install", debian.put(package))


def stat(debian, *names):
    return debian.run("stat", "-c", "%a %U:%G", *names).splitlines()


def asked(debian):
    """What systemctl was asked to do since the last time."""
    path = debian.path("/run/systemctl.log")
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    os.unlink(path)
    return [line for line in lines if not line.startswith("list-units")]


def find_ours(debian):
    """Files by their names and owners, and the user."""
    found = debian.sh("find / -xdev \\( -path /tmp -o -path /proc \\) -prune -o "
                      "\\( -name '*shardwheel*' -o -nouser -o -nogroup \\) -print; "
                      "grep shardwheel /etc/passwd /etc/group /etc/shadow /etc/gshadow /var/lib/dpkg/status || :")
    return found.splitlines()


def test_life_of_the_package(packages, debian, world, folder):
    before = find_ours(debian)
    said = install(debian, packages.deb)
    assert "not started" in said
    check_installed(debian)

    # As docs/install.md says: settings and secrets.
    keys = {**world.keys(), "server.port": free_ports(), "shardwheel.node.name": "node-a"}
    secrets = {key: keys.pop(key) for key in ("spring.datasource.password", "xxl.job.accessToken")}
    debian.sh('cat >>"$1" <<EOT\n' + "".join(f"{key}={value}\n" for key, value in keys.items()) + "EOT\n", SETTINGS)
    mine = debian.read(SETTINGS)
    for key, value in secrets.items():
        debian.write(f"/etc/shardwheel/secrets/{key}", f"{value}\n", 0o600)
    service = Service(debian, world, secrets)
    service.node.port = keys["server.port"]
    node = service.start()

    # From here on a systemd, as far as the scripts of the package see it.
    debian.write("/usr/bin/systemctl", SYSTEMCTL, 0o755)
    os.makedirs(debian.path("/run/systemd/system"))
    said = install(debian, packages.upgrade(folder))
    assert asked(debian) == ["--system daemon-reload", "try-restart shardwheel.service",
                             "try-restart shardwheel@b.service"]
    assert "restarting shardwheel.service" in said
    assert node.wait_exit(60) == 0 and "event=stopped" in node.log_text()
    assert debian.read(SETTINGS) == mine
    assert debian.read(f"{SETTINGS}.dpkg-dist").startswith("# A line of the next release.")
    check_modes(debian)
    # Twice is as good as once.
    os.unlink(debian.path("/run/node.pid"))
    debian.run("/var/lib/dpkg/info/shardwheel.postinst", "configure", NEWER)
    assert asked(debian)[1:] == ["try-restart shardwheel.service", "try-restart shardwheel@b.service"]
    check_modes(debian)
    service.start()

    # As `systemctl enable` does.
    os.makedirs(debian.path("/etc/systemd/system/multi-user.target.wants"), exist_ok=True)
    os.symlink(UNIT, debian.path("/etc/systemd/system/multi-user.target.wants/shardwheel.service"))
    debian.write("/etc/shardwheel/shardwheel-b.properties", "server.port=8081\n")
    debian.write("/var/lib/shardwheel/b/kept", "state\n")
    debian.run("apt-get", "-q", "-y", "remove", "shardwheel")
    assert asked(debian) == ["stop shardwheel.service", "stop shardwheel@b.service", "--system daemon-reload"]
    assert node.wait_exit(60) == 0
    assert not os.path.exists(debian.path("/usr/bin/shardwheel"))
    assert debian.read(SETTINGS) == mine and debian.read("/var/lib/shardwheel/b/kept")
    assert debian.read("/etc/shardwheel/secrets/xxl.job.accessToken")

    install(debian, packages.deb)
    assert debian.read(SETTINGS) == mine
    check_modes(debian)
    os.unlink(debian.path("/run/node.pid"))
    debian.run("apt-get", "-q", "-y", "purge", "shardwheel")
    os.unlink(debian.path("/usr/bin/systemctl"))
    shutil.rmtree(debian.path("/run/systemd"))
    shutil.rmtree(debian.path(service.credentials))
    assert find_ours(debian) == before

    # And once more from the beginning.
    install(debian, packages.deb)
    check_installed(debian)
    debian.run("apt-get", "-q", "-y", "purge", "shardwheel")
    assert find_ours(debian) == before


def check_installed(debian):
    version = run(binary(), "--version")
    assert debian.run("shardwheel", "--version") == version
    debian.run("bash", "-c", ". /usr/share/bash-completion/completions/shardwheelctl && complete -p shardwheelctl")
    for name in ("/usr/share/shardwheel/web/index.html", "/usr/share/shardwheel/sql/schema.sql", UNIT,
                 "/usr/share/shardwheel/prometheus/shardwheel.rules.yml",
                 "/usr/share/shardwheel/grafana/shardwheel.json",
                 "/lib/systemd/system/shardwheel@.service", "/usr/share/man/man8/shardwheel.8.gz",
                 "/usr/share/doc/shardwheel/install.md", "/usr/share/doc/shardwheel/console-licences.txt"):
        assert os.path.isfile(debian.path(name)), name
    assert debian.run("readlink", "/usr/bin/shardwheelctl") == "shardwheel\n"
    with open(debian.path("/usr/bin/shardwheel"), "rb") as program:
        assert b".debug_info" not in program.read()
    assert os.listdir(debian.path("/etc/shardwheel/secrets")) == []
    assert debian.run("getent", "passwd", "shardwheel").endswith(":/var/lib/shardwheel:/usr/sbin/nologin\n")
    check_modes(debian)


def check_modes(debian):
    assert stat(debian, SETTINGS, "/etc/shardwheel/secrets", "/var/lib/shardwheel", "/etc/shardwheel") == [
        "640 root:shardwheel", "700 root:root", "750 shardwheel:shardwheel", "755 root:root"]
