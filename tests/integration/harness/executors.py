# SPDX-License-Identifier: MIT
"""Executors: one that a test scripts, the one for load, and real ones in Java, Go and Python."""
import http.server
import json
import os
import sys
import threading
import time
import urllib.request

from .node import build_folder
from .process import Process, free_ports, wait_until

ACCEPTED = {"code": 200, "msg": None}


class Reply:
    """How the scripted executor answers a request."""

    def __init__(self, body=ACCEPTED, status=200, close=False, until=None, length=None, before=None):
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.status = status
        self.close = close  # end the connection without a single byte of an answer
        self.until = until  # threading.Event: wait for it before answering
        self.length = length  # Content-Length, when it shall not fit
        self.before = before  # called with the request before the answer


class Received:
    def __init__(self, handler, body):
        self.at_s = time.time()
        self.path = handler.path
        self.headers = handler.headers
        self.client = handler.client_address
        self.raw = body
        self.json = json.loads(body) if body.strip() else None

    def __getattr__(self, name):  # the members of the JSON body: request.logId
        try:
            return self.json[name]
        except (KeyError, TypeError):
            raise AttributeError(f"no member '{name}' in {self.raw!r}") from None


class ScriptedExecutor:
    """
    An executor in this process. It notes every request, the rejected ones too. `replies` gives the answer by the
    name of the handler, or by the path of other requests; what is not there is accepted. With `tls` (an
    ssl.SSLContext) it speaks https.
    """

    def __init__(self, paths=("/run",), tls=None, host="127.0.0.1"):
        executor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                executor._serve(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def get_request(self):  # the handshake is left to the thread of the connection
                connection, peer = super().get_request()
                if tls:
                    connection = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, peer

            def handle_error(self, request, client_address):  # a peer that went away is no news
                pass

        self.paths = paths
        self.replies = {}
        self.requests = []
        self._lock = threading.Lock()
        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"{'https' if tls else 'http'}://{host}:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler):
        request = Received(handler, handler.rfile.read(int(handler.headers.get("Content-Length", 0))))
        if handler.path not in self.paths and handler.path not in ("/beat", "/idleBeat"):
            reply = Reply({"code": 500, "msg": f"invalid request, uri-mapping({handler.path}) not found."})
        else:
            with self._lock:
                self.requests.append(request)
            reply = self.replies.get((request.json or {}).get("executorHandler", handler.path), Reply())
        if reply.before:
            reply.before(request)
        if reply.until:
            reply.until.wait(60)
        if reply.close:
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        handler.send_header("Content-Type", "text/html;charset=UTF-8")
        handler.send_header("Content-Length", str(len(reply.body) if reply.length is None else reply.length))
        handler.end_headers()
        handler.wfile.write(reply.body)
        if reply.length is not None:
            handler.close_connection = True

    def runs(self, job_id=None):
        """Requests to start a job, oldest first."""
        with self._lock:
            return [r for r in self.requests if r.path in ("/run", "/trigger") and job_id in (None, r.json["jobId"])]

    def questions(self, path):
        with self._lock:
            return [r for r in self.requests if r.path == path]

    def wait_runs(self, job_id, count=1, seconds=10):
        return wait_until(
            lambda: len(self.runs(job_id)) >= count and self.runs(job_id), seconds, f"{count} runs of job {job_id}"
        )


def callback_entry(log_id, code=200, message="done"):
    return {"logId": log_id, "logDateTim": 1700000000000, "handleCode": code, "handleMsg": message}


class LoadExecutor(Process):
    """Many addresses in one process; writes each arrival into a CSV file."""

    def __init__(self, folder, admins, app_name="load", addresses=20, token="", answer_delay_ms=0):
        self.port = free_ports(addresses)
        self.app_name = app_name
        self.arrivals_path = os.path.join(folder, f"arrivals-{app_name}.csv")
        self.addresses = [f"http://127.0.0.1:{self.port + i}/" for i in range(addresses)]
        super().__init__(
            "load_executor",
            [os.path.join(build_folder(), "load_executor"), "--listen", f"127.0.0.1:{self.port}",
             "--addresses", addresses,
             "--admin", ",".join(f"{admin}/xxl-job-admin" for admin in admins), "--app-name", app_name,
             "--token", token, "--arrivals", self.arrivals_path, "--batch", "50",
             "--answer-delay-ms", answer_delay_ms],
            os.path.join(folder, f"load_executor-{app_name}.log"),
        )

    def arrivals(self):
        """The number of arrivals written so far."""
        try:
            with open(self.arrivals_path, "rb") as lines:
                return max(0, sum(1 for _ in lines) - 1)
        except FileNotFoundError:
            return 0

    def wait_arrivals(self, more, seconds):
        """Waits for that many arrivals more than there are now."""
        goal = self.arrivals() + more
        wait_until(lambda: self.arrivals() >= goal, seconds, f"{goal} arrivals at the load executor")


class _RealExecutor(Process):
    def wait_ready(self, seconds=20):
        def beats():
            request = urllib.request.Request(self.address.rstrip("/") + "/beat", data=b"", method="POST")
            with urllib.request.urlopen(request, timeout=2) as answer:
                return answer.status == 200

        wait_until(beats, seconds, f"{self.name} to answer on {self.address}\n{self.tail(20)}")
        return self


class JavaExecutor(_RealExecutor):
    """The official library in a JVM of its own; registers itself."""

    def __init__(self, folder, version, classpath, admins, app_name, token=""):
        self.port = free_ports()
        self.address = f"http://127.0.0.1:{self.port}/"
        self.log_folder = os.path.join(folder, f"java-{version}")
        properties = {
            "admin": ",".join(admins), "appname": app_name, "address": self.address, "port": self.port, "token": token,
            "logpath": self.log_folder,
        }
        super().__init__(
            f"java-{version}",
            ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
            + [f"-Dexecutor.{name}={value}" for name, value in properties.items()]
            + ["-cp", classpath, "org.shardwheel.executor.Main"],
            os.path.join(folder, f"java-{version}.log"),
        )



class GoExecutor(_RealExecutor):
    """xxl-job-executor-go; registers itself."""

    def __init__(self, folder, program, admin, app_name, token=""):
        self.port = free_ports()
        self.address = f"http://127.0.0.1:{self.port}"
        super().__init__("go", [program, admin, app_name, self.port, token], os.path.join(folder, "go.log"))


class PythonExecutor(_RealExecutor):
    """pyxxl; registers itself."""

    def __init__(self, folder, program, packages, admin, app_name, token=""):
        self.port = free_ports()
        self.address = f"http://127.0.0.1:{self.port}"
        super().__init__(
            "python", [sys.executable, program, admin, app_name, self.port, token, os.path.join(folder, "pyxxl")],
            os.path.join(folder, "python.log"), env={**os.environ, "PYTHONPATH": packages},
        )
