# SPDX-License-Identifier: MIT
"""Builds the Java programs of the tests with Maven, once, into the cache."""
import hashlib
import os
import shutil
import subprocess
import tempfile

from .databases import cache_dir, cache_lock
from .node import ROOT

_EXECUTOR = os.path.join(ROOT, "tests", "executors", "java")
_CURATOR = os.path.join(ROOT, "tests", "curator")


def _sources(project):
    for folder, _, names in sorted(os.walk(project)):
        if "target" not in folder.split(os.sep):
            for name in sorted(names):
                yield os.path.join(folder, name)


def _classpath(project, name, options=()):
    """The class path of that project, built when the cache does not have it as it is now."""
    digest = hashlib.sha256()
    for path in _sources(project):
        with open(path, "rb") as source:
            digest.update(source.read())
    home = os.path.join(cache_dir(), f"{name}-{digest.hexdigest()[:12]}")
    if not os.path.exists(home):
        with cache_lock():
            if not os.path.exists(home):
                _build(project, home, options)
    return f"{home}/target/classes:{home}/target/dependency/*"


def _build(project, home, options):
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        work = os.path.join(folder, "java")
        shutil.copytree(project, work, ignore=shutil.ignore_patterns("target"))
        done = subprocess.run(
            ["mvn", "-q", "-B", *options, "compile", "dependency:copy-dependencies"],
            cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        assert done.returncode == 0, f"maven could not build {os.path.basename(home)}:\n{done.stdout}"
        os.rename(work, home)


def java_classpath(version):
    """The class path of the executor with that version of xxl-job-core."""
    slf4j = "1.7.36" if version.startswith("2.") else "2.0.17"
    return _classpath(
        _EXECUTOR, f"java-executor-{version}", [f"-Dxxl-job.version={version}", f"-Dslf4j.version={slf4j}"]
    )


def curator_classpath():
    """The class path of the program around Curator's mutex."""
    return _classpath(_CURATOR, "java-curator")
