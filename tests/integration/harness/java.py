# SPDX-License-Identifier: MIT
"""Builds the Java executor against a version of the official library, once, into the cache."""
import hashlib
import os
import shutil
import subprocess
import tempfile

from .databases import cache_dir
from .node import ROOT

_PROJECT = os.path.join(ROOT, "tests", "executors", "java")


def _sources():
    for folder, _, names in sorted(os.walk(_PROJECT)):
        if "target" not in folder.split(os.sep):
            for name in sorted(names):
                yield os.path.join(folder, name)


def java_classpath(version):
    """The class path of the executor with that version of xxl-job-core."""
    digest = hashlib.sha256()
    for path in _sources():
        with open(path, "rb") as source:
            digest.update(source.read())
    home = os.path.join(cache_dir(), f"java-executor-{version}-{digest.hexdigest()[:12]}")
    if not os.path.exists(home):
        _build(version, home)
    return f"{home}/target/classes:{home}/target/dependency/*"


def _build(version, home):
    slf4j = "1.7.36" if version.startswith("2.") else "2.0.17"
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        work = os.path.join(folder, "java")
        shutil.copytree(_PROJECT, work, ignore=shutil.ignore_patterns("target"))
        done = subprocess.run(
            ["mvn", "-q", "-B", f"-Dxxl-job.version={version}", f"-Dslf4j.version={slf4j}", "compile",
             "dependency:copy-dependencies"],
            cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        assert done.returncode == 0, f"maven could not build the Java executor for {version}:\n{done.stdout}"
        os.rename(work, home)
