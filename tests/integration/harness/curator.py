# SPDX-License-Identifier: MIT
"""The mutex of Apache Curator in a JVM of its own, on the locks of the shards."""
import os
import queue
import subprocess
import threading

from .builds import curator_classpath
from .process import Process


class Curator(Process):
    """Commands go in order to the one thread that holds the mutexes. Times of answers are those of this process."""

    def __init__(self, folder, servers, base_path, session_timeout_ms=4000, name="curator"):
        super().__init__(
            name,
            ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
             "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", curator_classpath(),
             "org.shardwheel.curator.Main", servers, base_path, session_timeout_ms],
            os.path.join(folder, f"{name}.log"),
        )
        self._answers = queue.Queue()

    def start(self):
        super().start()
        assert self.answer(40).startswith("ready"), self.tail()
        return self

    def _spawn(self, log):
        popen = super()._spawn(log, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        threading.Thread(target=self._read, args=(popen.stdout,), daemon=True).start()
        return popen

    def _read(self, lines):
        for line in lines:
            self._answers.put(line.rstrip("\n"))
        self._answers.put("")  # it has ended

    def send(self, command):
        self.popen.stdin.write(command + "\n")
        self.popen.stdin.flush()

    def answer(self, seconds):
        """The answer to the oldest command that has none yet."""
        try:
            said = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"{self.name} said nothing for {seconds} s\n{self.tail()}") from None
        assert said and not said.startswith("error"), f"{self.name} said {said!r}\n{self.tail()}"
        return said

    def is_answered(self):
        return not self._answers.empty()

    def ask(self, command, seconds=10):
        self.send(command)
        return self.answer(seconds)

    def acquire(self, shard, timeout_ms):
        """True when it holds the mutex now."""
        return self.ask(f"acquire {shard} {timeout_ms}", timeout_ms / 1000 + 10) == "acquired"

    def release(self, shard):
        assert self.ask(f"release {shard}") == "released"

    def participants(self, shard):
        """[(name, data)] in the order in which they come to hold the mutex."""
        return [tuple(word.split("=", 1)) for word in self.ask(f"participants {shard}").split()[1:]]
