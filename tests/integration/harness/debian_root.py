# SPDX-License-Identifier: MIT
"""A clean Debian in a folder, of the release of this machine, in which packages are installed and programs run."""
import hashlib
import inspect
import os
import shutil
import signal
import subprocess
import tempfile

from .databases import cache_dir, cache_lock

# Mounts in a namespace of their own, which are gone with the process.
_ENTER = 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"'
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def _run(command, what, seconds=300, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=seconds, **options)
    assert done.returncode == 0, f"{what} failed with status {done.returncode}:\n{done.stdout[-6000:]}"
    return done.stdout


def _sources():
    """The archives of Debian that this machine's apt uses, as lines of sources.list; that of the release first."""
    form = "$(ORIGIN)|$(LABEL)|$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    listed = _run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"], "apt-get indextargets")
    rows = {tuple(line.split("|")) for line in listed.splitlines() if line.startswith("Debian|") and "main" in line}
    first = sorted(rows, key=lambda row: (row[1] != "Debian", len(row[3])))
    assert first, "apt of this machine has no list of an archive of Debian: apt-get update"
    return [f"deb [signed-by={_KEYRING}] {uri} {codename} {component}" for _, _, uri, codename, component in first]


def _make_base(archive):
    """A root with what apt needs."""
    sources = _sources()
    mirror, release = sources[0].split()[2:4]
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        root = os.path.join(folder, "root")
        _run(["debootstrap", "--variant=minbase", "--include=ca-certificates", release, root, mirror], "debootstrap",
             seconds=900)
        with open(os.path.join(root, "etc/apt/sources.list"), "w", encoding="ascii") as file:
            file.write("\n".join(sources) + "\n")
        shutil.copy(_KEYRING, root + _KEYRING)
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
        system = DebianRoot(root)
        system.run("apt-get", "clean")
        for path in ("usr/share/doc", "usr/share/locale", "usr/share/man"):
            shutil.rmtree(os.path.join(root, path))
        system.run("apt-get", "-q", "update")
        _pack(root, archive)


def _add_dependencies(archive, package):
    """The same, with the packages that this one depends on in apt's cache."""
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        system = DebianRoot.copy(base(), os.path.join(folder, "root"))
        name = system.put(package)
        system.run("apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "install", name)
        os.unlink(system.path(name))
        _pack(system.folder, archive)


def _pack(root, archive):
    _run(["tar", "-C", root, "--numeric-owner", "-cf", f"{root}.tar", "."], "tar")
    os.rename(f"{root}.tar", archive)


def _cached(name, maker, *arguments, depends=""):
    """An archive; made anew when what it depends on is another text, or the release of Debian is another."""
    with open("/etc/os-release", encoding="ascii") as release:
        text = depends + release.read() + inspect.getsource(_make_base) + inspect.getsource(maker)
    archive = os.path.join(cache_dir(), f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.tar")
    if not os.path.exists(archive):
        with cache_lock(name):
            if not os.path.exists(archive):
                maker(archive, *arguments)
    return archive


def base():
    return _cached("debian-base", _make_base)


def with_dependencies(package):
    depends = _run(["dpkg-deb", "-f", package, "Depends"], "dpkg-deb")
    return _cached("debian-root", _add_dependencies, package, depends=depends)


class DebianRoot:
    """A root folder. It needs root itself: chroot, mounts and files of other users."""

    def __init__(self, folder):
        self.folder = folder

    @classmethod
    def unpack(cls, package, folder):
        """A fresh one, in which the dependencies of the package are at hand."""
        assert os.geteuid() == 0, "a package is installed in a root folder of its own, which only root can: run as root"
        return cls.copy(with_dependencies(package), folder)

    @classmethod
    def copy(cls, archive, folder):
        os.makedirs(folder)
        _run(["tar", "-C", folder, "--numeric-owner", "-xpf", archive], "tar")
        return cls(folder)

    def path(self, name):
        return self.folder + name

    def put(self, file):
        """Copies a file of this machine into it; its name there."""
        name = f"/tmp/{os.path.basename(file)}"
        shutil.copy(file, self.path(name))
        return name

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def command(self, *command):
        """The same command, run in it; it keeps its process id."""
        return ["unshare", "--mount", "sh", "-c", _ENTER, self.folder, *command]

    def run(self, *command, seconds=180):
        """Its output; fails when the command does."""
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        env.update({name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")})
        return _run(self.command(*command), " ".join(command), seconds, env=env)

    def sh(self, script, *arguments, **options):
        return self.run("sh", "-ec", script, "sh", *arguments, **options)

    def remove(self):
        """The folder, and what still runs in it."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/root") == self.folder:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                continue
        shutil.rmtree(self.folder)
