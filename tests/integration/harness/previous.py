# SPDX-License-Identifier: MIT
"""The program of the release before this one, built from history once and kept in the cache."""
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile

from .databases import cache_dir
from .node import ROOT

_PINNED = os.path.join(ROOT, "tests", "previous-release")


def read_pinned():
    """(commit, name)"""
    with open(_PINNED, encoding="utf-8") as text:
        commit, name = next(line for line in text if not line.startswith("#")).split()
    return commit, name


def _git(*arguments, **options):
    return subprocess.run(["git", "-C", ROOT, *arguments], **options)


def _is_in_history(commit):
    # Not every machine that has the sources has git, or a history.
    return shutil.which("git") is not None and _git(
        "cat-file", "-e", f"{commit}^{{commit}}", stderr=subprocess.DEVNULL).returncode == 0


def _build(commit, folder):
    """The program, built from that commit in this folder."""
    source, made = os.path.join(folder, "source"), os.path.join(folder, "made")
    os.mkdir(source)
    archive = _git("archive", commit, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "x", "-C", source], input=archive, check=True)
    for command in (["cmake", "-S", source, "-B", made, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"],
                    ["cmake", "--build", made, "-j2", "--target", "shardwheel"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"{' '.join(command)} of {commit}:\n{done.stdout[-6000:]}"
    return os.path.join(made, "shardwheel")


def previous_release():
    """Path of the program; None where the history does not go back so far (a shallow clone, an archive of sources)."""
    commit, _ = read_pinned()
    home = os.path.join(cache_dir(), "previous-release")
    program = os.path.join(home, f"shardwheel-{commit[:12]}")
    if os.path.exists(program):
        return program
    if not _is_in_history(commit):
        return None
    os.makedirs(home, exist_ok=True)
    # A lock of its own: it takes a minute or more, and nobody else in the cache is to wait for it.
    with open(os.path.join(home, ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(program):
            with tempfile.TemporaryDirectory(dir=home) as folder:
                os.rename(_build(commit, folder), program)
    return program


if __name__ == "__main__":  # python3 -m harness.previous: so that it is there before a test wants it
    print(previous_release() or f"{read_pinned()[0]} is not in this history")
    sys.exit(0)
