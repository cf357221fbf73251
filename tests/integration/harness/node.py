# SPDX-License-Identifier: MIT
"""A shardwheel process under test."""
import http.client
import json
import os
import re
import signal
import ssl
import subprocess

from .process import Process, free_ports, wait_until

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))

_SANITIZER_REPORT = re.compile(r"ERROR: \w+Sanitizer|runtime error:|WARNING: ThreadSanitizer")
_SANITIZER_ENV = {
    "ASAN_OPTIONS": "detect_leaks=1:exitcode=86:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=86",
}


_build = "release"


def set_build(name):
    """What --build says: the name of a folder in build/ (release, asan, ...), or any path."""
    global _build
    _build = name


def build_folder():
    return os.path.join(ROOT, "build", _build)


def binary():
    return os.path.join(build_folder(), "shardwheel")


def is_sanitized():
    """Such a build must end by itself, so that it looks for leaks; the others are killed, which saves seconds."""
    with open(binary(), "rb") as program:
        return b"__asan_init" in program.read()


def environment():
    """Of this process, without what the binary would take as its keys."""
    keys = ("SHARDWHEEL_", "SPRING_", "XXL_")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(keys)}
    return {**kept, **_SANITIZER_ENV, "TZ": "UTC"}


def options(keys):
    return [f"--{key}={value}" for key, value in keys.items()]


def run_shardwheel(arguments, seconds=40):
    """Runs the binary until it ends by itself; subprocess.CompletedProcess with text."""
    return subprocess.run(
        [binary()] + [str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=seconds, env=environment(),
    )


class Answer:
    """What an HTTP call came back with."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode("utf-8")

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def code(self):
        return self.json["code"]

    def __repr__(self):
        return f"HTTP {self.status} {self.text[:300]!r}"


class Node(Process):
    def __init__(self, name, folder, keys, command=None):
        self.port = int(keys["server.port"]) if "server.port" in keys else free_ports()
        self.keys = {"server.port": self.port, "shardwheel.node.name": name, **keys}
        self.tls = None  # how it is asked over https
        if "server.ssl.certificate" in keys or "server.ssl.key-store" in keys:
            self.tls = ssl._create_unverified_context()
        super().__init__(
            name, [binary()] + (command or []) + options(self.keys), os.path.join(folder, f"{name}.log"),
            env=environment(),
        )

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def start(self, healthy_within=20):
        """None: does not wait."""
        super().start()
        if healthy_within is not None:
            self.wait_healthy(healthy_within)
        return self

    def wait_healthy(self, seconds=20):
        wait_until(self._is_healthy_or_gone, seconds, f"{self.name} to say that it is healthy\n{self.tail(30)}")

    def _is_healthy_or_gone(self):
        if not self.running():
            raise RuntimeError(f"{self.name} ended with status {self.popen.returncode}\n{self.tail()}")
        return self.is_healthy()

    def is_healthy(self):
        answer = self.get("/actuator/health")
        return answer.status == 200 and answer.json["status"] == "UP"

    def request(self, method, path, body=None, headers=None, seconds=10):
        if self.tls:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=seconds, context=self.tls)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body, token=None, headers=None, seconds=10):
        """body: bytes as they are, or anything that json can write."""
        if not isinstance(body, bytes):
            body = json.dumps(body, ensure_ascii=False).encode()
        sent = {"Content-Type": "application/json;charset=UTF-8", **(headers or {})}
        if token is not None:
            sent["XXL-JOB-ACCESS-TOKEN"] = token
        return self.request("POST", path, body, sent, seconds)

    def metrics(self):
        """{'name{label="x"}': value} of /metrics."""
        return parse_metrics(self.get("/metrics").text)

    def end_cleanly(self):
        """Ends it; with a sanitizer build it must end by itself, with status 0 and without a report."""
        end_together([self])

    def check_sanitizers(self):
        found = _SANITIZER_REPORT.search(self.log_text())
        assert not found, f"{self.name} has a sanitizer report:\n{self.log_text()[found.start():found.start() + 6000]}"


def end_together(nodes):
    """Ends each cleanly, all at once."""
    running = [node for node in nodes if node.running()]
    for node in running:
        if is_sanitized():
            node.signal(signal.SIGTERM)
        else:
            node.kill()
    for node in running:
        status = node.wait_exit(40)
        assert status == 0 or not is_sanitized(), f"{node.name} ended with status {status}\n{node.tail()}"


def parse_metrics(text):
    """Refuses what a Prometheus server would refuse."""
    values = {}
    typed = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name = line.split()[2]
            assert name not in typed, f"metric {name} is declared twice"
            typed.add(name)
        elif line and not line.startswith("#"):
            found = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{[^}]*\})?) (\S+)', line)
            assert found, f"no metric line: {line!r}"
            assert found[1] not in values, f"{found[1]} stands twice"
            base = re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", found[1])
            assert base in typed or found[1].split("{")[0] in typed, f"{found[1]} has no TYPE line"
            values[found[1]] = float(found[2])
    return values
