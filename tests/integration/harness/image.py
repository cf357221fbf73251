# SPDX-License-Identifier: MIT
"""Carries out a Dockerfile in a Debian root, where no engine and no registry are: the same files, the same scripts."""
import glob
import json
import os
import re
import shutil
import subprocess


def _instructions(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"\\\n", " ", file.read())
    return [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]


class Image:
    """`root` is a fresh one, which stands for the image that the Dockerfile begins with."""

    def __init__(self, root, dockerfile, context):
        self.root = root
        self.context = context
        self.env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.folder = "/"
        self.entrypoint = self.healthcheck = self.base = None
        for name, words in _instructions(dockerfile):
            getattr(self, f"_{name.lower()}")(words)

    def _from(self, words):
        self.base = words

    def _copy(self, words):
        *sources, target = words.split()
        assert len(sources) == 1 or target.endswith("/"), f"COPY {words}: more than one thing needs a folder"
        os.makedirs(self.root.path(target), exist_ok=True)
        for source in sources:
            found = glob.glob(os.path.join(self.context, source))
            assert found, f"COPY {words}: there is no {source}"
            for path in found:
                shutil.copy(path, self.root.path(target))

    def _run(self, words):
        self.root.run(*json.loads(words), seconds=240)

    def _env(self, words):
        name, value = words.split("=", 1)
        self.env[name] = value

    def _workdir(self, words):
        self.folder = words

    def _expose(self, words):
        assert words.isdigit()

    def _stopsignal(self, words):
        assert words == "SIGTERM"

    def _healthcheck(self, words):
        self.healthcheck = json.loads(words.split("CMD", 1)[1])

    def _entrypoint(self, words):
        self.entrypoint = json.loads(words)

    def command(self, *words):
        """As `docker run` with these words."""
        return self.root.command("env", f"--chdir={self.folder}", *self.entrypoint, *words)

    def exec(self, env, *command):
        """As `docker exec`, in a container with that environment."""
        return subprocess.run(self.root.command(*command), env={**self.env, **env}, capture_output=True, text=True,
                              timeout=60)
