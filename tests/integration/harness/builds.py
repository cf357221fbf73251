# SPDX-License-Identifier: MIT
"""Builds the programs of the tests that are not ours to compile with CMake, once each, into the cache."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

from .databases import cache_dir, cache_lock
from .node import ROOT

_EXECUTORS = os.path.join(ROOT, "tests", "executors")
_CLIENTS = os.path.join(ROOT, "tests", "clients")
_CURATOR = os.path.join(ROOT, "tests", "curator")

JAVA_VERSIONS = ("2.2.0", "2.3.1", "2.4.2", "2.5.0", "3.0.0", "3.1.1", "3.2.0", "3.3.2")  # of executors


def _sources(project):
    for folder, _, names in sorted(os.walk(project)):
        if "target" not in folder.split(os.sep):
            for name in sorted(names):
                yield os.path.join(folder, name)


def _cached(project, name, tool, build):
    """
    The folder that holds what build(copy of the project) leaves there; built with that tool when it is not there as it
    is now.
    """
    digest = hashlib.sha256()
    for path in _sources(project):
        with open(path, "rb") as source:
            digest.update(source.read())
    home = os.path.join(cache_dir(), f"{name}-{digest.hexdigest()[:12]}")
    if not os.path.exists(home):
        with cache_lock(tool):
            if not os.path.exists(home):
                with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
                    work = os.path.join(folder, "work")
                    shutil.copytree(project, work, ignore=shutil.ignore_patterns("target"))
                    build(work)
                    os.rename(work, home)
    return home


def _run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(command)} in {folder}:\n{done.stdout}"


# Java: with Maven


def _classpath(project, name, options=()):
    command = ["mvn", "-q", "-B", *options, "compile", "dependency:copy-dependencies"]
    home = _cached(project, name, "maven", lambda work: _run(command, work))
    return f"{home}/target/classes:{home}/target/dependency/*"


def java_classpath(version):
    """The class path of the executor with that version of xxl-job-core."""
    options = [f"-Dxxl-job.version={version}"]
    if version.startswith("2."):
        options.append("-Dslf4j.version=1.7.36")
    if version.startswith("2.2."):
        options.append("-Dsources=old")
    return _classpath(os.path.join(_EXECUTORS, "java"), f"java-executor-{version}", options)


def curator_classpath():
    """The class path of the program around Curator's mutex."""
    return _classpath(_CURATOR, "java-curator")


# Go and Python


def go_executor():
    """The executor on xxl-job-executor-go."""
    home = _cached(os.path.join(_EXECUTORS, "go"), "go-executor", "go",
                   lambda work: _run(["go", "build", "-trimpath", "-o", "test-executor", "."], work))
    return os.path.join(home, "test-executor")


def _python_program(project, name):
    """Program and packages. The packages stand beside the program, without a venv, whose paths would not bear the move
    into the cache."""
    def build(work):
        _run([sys.executable, "-m", "venv", "venv"], work)
        _run(["venv/bin/pip", "install", "-q", "--target", "packages", "-r", "requirements.txt"], work)
        shutil.rmtree(os.path.join(work, "venv"))

    home = _cached(project, name, "pip", build)
    return os.path.join(home, "main.py"), os.path.join(home, "packages")


def schemathesis():
    """Program and packages of schemathesis."""
    return _python_program(os.path.join(_CLIENTS, "schemathesis"), "schemathesis")


def python_executor():
    """Program and packages of the executor on pyxxl."""
    return _python_program(os.path.join(_EXECUTORS, "python"), "python-executor")


# Clients of the console that others have published


def java_client_classpath():
    """The class path of the program around xxl-job-auto-core."""
    return _classpath(os.path.join(_CLIENTS, "java"), "java-client")


def python_client():
    """Program and packages of the calls of xxl-admin-sh and pyxxl."""
    return _python_program(os.path.join(_CLIENTS, "python"), "python-client")


def npm_client():
    """The program around mcp-xxl-job; its package lies beside it, without the packages of the server in it."""
    def build(work):
        with open(os.path.join(work, "requirements.txt"), encoding="utf-8") as text:
            _run(["npm", "pack", "--silent", text.read().strip()], work)
        archive = next(name for name in os.listdir(work) if name.endswith(".tgz"))
        _run(["tar", "xzf", archive], work)

    return os.path.join(_cached(os.path.join(_CLIENTS, "npm"), "npm-client", "npm", build), "main.mjs")


def oidc_provider():
    """The program around oidc-provider, a certified OpenID provider."""
    def build(work):
        _run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], work)

    return os.path.join(_cached(os.path.join(_CLIENTS, "oidc"), "oidc-provider", "npm", build), "provider.mjs")
