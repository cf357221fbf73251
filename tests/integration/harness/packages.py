# SPDX-License-Identifier: MIT
"""Packages of the distribution unpacked into the cache: nothing is installed, so that no service starts."""
import glob
import os
import subprocess
import tempfile

from .databases import cache_dir, cache_lock


def unpacked(name, packages):
    """The folder with the files of those packages; fetched once, with what they need that a plain system lacks."""
    folder = os.path.join(cache_dir(), name)
    if not os.path.exists(folder):
        with cache_lock("apt"):
            if not os.path.exists(folder):
                _fetch(folder, packages)
    return folder


def _fetch(folder, packages):
    with tempfile.TemporaryDirectory(dir=cache_dir()) as work:
        for command in (["apt-get", "-q", "download", *packages], ["apt-get", "-q", "update"],
                        ["apt-get", "-q", "download", *packages]):
            done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            files = glob.glob(os.path.join(work, "*.deb"))
            if len(files) == len(packages):
                break
        assert len(files) == len(packages), f"apt-get could not fetch {packages}:\n{done.stdout}"
        root = os.path.join(work, "unpacked")
        for file in files:
            subprocess.run(["dpkg-deb", "-x", file, root], check=True)
        os.rename(root, folder)
