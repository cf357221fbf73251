# SPDX-License-Identifier: MIT
"""
A Galera cluster on 127.0.0.1: three servers of the distribution's MariaDB with the provider of its package galera-4.

The provider, and what a state transfer by rsync needs, are unpacked into the cache: the packages start services.
"""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from .databases import DatabaseServer
from .packages import unpacked
from .process import free_ports, wait_until

_PACKAGES = ("galera-4", "mariadb-server", "rsync", "libpopt0")
SIZE = 3
SYNCED = "4"  # wsrep_local_state

# A member that dies closes its sockets, but the others wait this long for it all the same.
_PROVIDER_OPTIONS = {
    "evs.keepalive_period": "PT0.3S", "evs.inactive_check_period": "PT0.2S", "evs.suspect_timeout": "PT2S",
    "evs.inactive_timeout": "PT4S", "evs.install_timeout": "PT4S", "gcache.size": "64M",
}


def home():
    """The folder with the unpacked packages."""
    return unpacked("galera", _PACKAGES)


def _rsync(folder):
    """Its daemon becomes nobody where root starts it, and nobody may not write into the folders of our servers."""
    os.makedirs(folder)
    with open(os.path.join(folder, "rsync"), "w", encoding="ascii") as out:
        out.write('#!/bin/sh\nroot=""\n[ "$(id -u)" -ne 0 ] || case " $* " in *" --daemon "*)\n'
                  'root="--dparam=uid=0 --dparam=gid=0";; esac\n'
                  f'exec {home()}/usr/bin/rsync $root "$@"\n')
    os.chmod(out.name, 0o755)


def _environment(folder):
    """
    In which a server finds the script of a state transfer and its rsync, and not those of the system: it puts /usr//bin
    in front where PATH has no such text.
    """
    libraries = os.path.dirname(glob.glob(os.path.join(home(), "usr", "lib", "*", "libpopt.so.0"))[0])
    path = f"{folder}/bin:{home()}/usr/bin"
    _rsync(f"{folder}/bin")
    return {**os.environ, "PATH": f"{path}:{os.environ['PATH']}:/usr//bin", "LD_LIBRARY_PATH": libraries}


class Member(DatabaseServer):
    """One server of a cluster."""

    def __init__(self, folder, name, address, base_port, options):
        provider = ";".join(f"{key}={value}" for key, value in {
            **_PROVIDER_OPTIONS, "gmcast.listen_addr": f"tcp://127.0.0.1:{base_port}",
            "ist.recv_addr": f"127.0.0.1:{base_port + 1}",
        }.items())
        super().__init__(name, folder, ["/usr/sbin/mariadbd", "--no-defaults", "--skip-name-resolve"], [
            "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--innodb-buffer-pool-size=64M", "--wsrep-on=ON",
            f"--wsrep-provider={home()}/usr/lib/libgalera_smm.so", f"--wsrep-provider-options={provider}",
            f"--wsrep-node-name={name}", "--wsrep-cluster-name=jobs", "--wsrep-node-address=127.0.0.1",
            "--wsrep-sst-method=rsync", f"--wsrep-sst-receive-address=127.0.0.1:{base_port + 2}",
            *options,
        ])
        self.name = name
        self.data = os.path.join(folder, "data")
        self.process.env = _environment(folder)
        self._plain = self.process.command + [f"--wsrep-cluster-address=gcomm://{address}"]

    def launch(self, bootstrap=False):
        """
        Starts it without waiting. After a crash the position is read from the tables first, as the service does, so
        that the others send only what is missing.
        """
        self.process.command = self._plain + self._recovered() + (["--wsrep-new-cluster"] if bootstrap else [])
        self.process.start()

    def start(self, bootstrap=False, seconds=60):
        self.launch(bootstrap)
        return self.wait_synced(seconds)

    def wait_synced(self, seconds=60):
        """It takes statements and has what the others have."""
        wait_until(self._is_synced, seconds, f"{self.name} to be a synced member\n{self.process.tail(5)}")
        return self

    def _is_synced(self):
        assert self.process.running(), f"{self.name} ended\n{self.process.tail()}"
        return self.status("wsrep_local_state") == SYNCED and self.status("wsrep_ready") == "ON"

    def _recovered(self):
        path = os.path.join(self.data, "grastate.dat")
        if not os.path.exists(path) or not re.search(r"^seqno:\s+-1$", open(path, encoding="ascii").read(), re.M):
            return []
        done = subprocess.run(self._plain + ["--wsrep-recover", "--skip-networking"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.process.env)
        found = re.search(r"Recovered position: (\S+:-?\d+)", done.stdout)
        assert found, f"{self.name} does not tell its position:\n{done.stdout}"
        return [f"--wsrep-start-position={found[1]}"]

    def status(self, name):
        with self.root() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE %s", (name,))
            row = cursor.fetchone()
        return row[1] if row else None

    def set_global(self, what):
        with self.root() as connection, connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {what}")

    def isolate(self, away=True):
        """Cuts it off the other members, and nobody else: it becomes non-primary once it takes them for gone."""
        self.set_global(f"wsrep_provider_options = 'gmcast.isolate={int(away)}'")

    def desync(self, away=True):
        """As for a backup: it applies, however late, and does not slow the others down."""
        self.set_global(f"wsrep_desync = {'ON' if away else 'OFF'}")


class Galera:
    """
    `members` in order; the first one that was started makes the cluster. What a test asks of a server by itself
    (databases, users) is asked of the first member, and the others get it.
    """

    def __init__(self, template, options=(), may_all=True):
        self.folder = tempfile.mkdtemp(prefix="swgal-")
        self.template = template
        self.may_all = may_all
        ports = [free_ports(3) for _ in range(SIZE)]
        address = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.members = []
        for number, port in enumerate(ports, 1):
            folder = os.path.join(self.folder, str(number))
            os.makedirs(folder)
            self.members.append(Member(folder, f"galera-{number}", address, port, options))

    def start(self):
        """The others begin with copies of the first member's files: what they lack is then little enough to be sent."""
        first, *others = self.members
        shutil.copytree(os.path.join(self.template, "data"), first.data)
        first.start(bootstrap=True)
        with first.root() as connection, connection.cursor() as cursor:
            cursor.execute("DROP USER IF EXISTS ''@'localhost'")
        first.create_user(self.may_all)
        assert first.process.terminate() == 0, first.process.tail()
        for member in others:
            shutil.copytree(first.data, member.data, ignore=shutil.ignore_patterns("galera.cache", "gvwstate.dat"))
        first.start(bootstrap=True)
        for member in others:
            member.start()
        return self

    def wait_size(self, size, among=None, seconds=30):
        """The members that live agree that they are so many."""
        live = among or [member for member in self.members if member.process.running()]
        wait_until(lambda: all(member.status("wsrep_cluster_size") == str(size) and
                               member.status("wsrep_cluster_status") == "Primary" for member in live),
                   seconds, f"a cluster of {size}")

    def stop(self):
        for member in self.members:
            member.stop()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def start_galera(template, options=(), may_all=True):
    cluster = Galera(template, options, may_all)
    try:
        return cluster.start()
    except BaseException:
        cluster.remove()
        raise
