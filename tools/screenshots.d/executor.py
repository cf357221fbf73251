# SPDX-License-Identifier: MIT
"""Executors that take what comes, report its end after a while and have a log of it."""
import http.client
import http.server
import json
import random
import threading
import time

TOKEN = "default_token"
ZONE_S = 8 * 3600
# What the jobs of the flow in the pictures say, by handler.
RESULTS = {"orderSync": '{"orders": 1204, "shops": ["north", "south", "harbour", "airport", "station"]}',
           "scoreOrders": '{"orders": 241, "refused": 3}'}
FULL = "java.io.IOException: No space left on device: /data/invoices/2026-11.csv"
STEPS = ["connecting to {handler}-db:5432", "read 1,204 rows since the last run",
         "\x1b[33mWARN\x1b[0m  3 rows have no customer, left for later", "wrote 1,201 rows in 4 batches",
         "checkpoint 88213 saved"]


class Executor:
    """All addresses of one group, on hosts of the loopback network."""

    def __init__(self, admin_port, app, addresses):
        self.admin_port, self.app, self.addresses, self.runs = admin_port, app, addresses, {}
        self.random = random.Random(app)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                data = json.dumps(outer.answer(self.path, json.loads(body or b"{}"))).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        for address in addresses:
            host, port = address.split("//")[1].rstrip("/").split(":")
            server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()

    def answer(self, path, body):
        if path == "/run":
            self._run(body)
        if path == "/log":
            piece = self._read(body["logId"], body["fromLineNum"])
            return {"code": 200, "content": piece, "data": piece}
        if path == "/idleBeat" and any(trigger["jobId"] == body["jobId"] and time.time() < began + seconds
                                       for began, trigger, seconds in list(self.runs.values())):
            return {"code": 500, "msg": "job thread is running or has trigger queue."}
        return {"code": 200}

    def _run(self, trigger):
        long = trigger["executorHandler"] == "rebuildIndex"
        seconds = 900 if long else self.random.uniform(1, 4)
        self.runs[trigger["logId"]] = (time.time(), trigger, seconds)
        if not long:
            handler, said = trigger["executorHandler"], ""
            in_flow = (trigger.get("executorParams") or "").startswith("date=")
            failed = handler == "fetchRates" and self.random.random() < 0.3
            if failed:
                said = "HTTP 503 from api.rates.example"
            elif in_flow:
                failed = handler == "exportInvoices"
                said = FULL if failed else RESULTS.get(handler, "")
            threading.Timer(seconds, self._report, (trigger, failed, said)).start()

    def _report(self, trigger, failed, said):
        self._post("callback", [{"logId": trigger["logId"], "logDateTim": trigger["logDateTime"],
                                 "handleCode": 500 if failed else 200, "handleMsg": said}])

    def _lines(self, log_id):
        began, trigger, seconds = self.runs.get(log_id, (time.time() - 60, {"executorHandler": "orderSync"}, 3))
        handler = trigger["executorHandler"] or "script"

        def line(at, text):
            return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(began + at + ZONE_S))} [{handler}] {text}"

        if seconds < 60:
            lines = [line(0, f"begins, parameter \"{trigger.get('executorParams') or ''}\"")]
            lines += [line(n * seconds / 6, step.format(handler=handler)) for n, step in enumerate(STEPS, 1)]
            return lines + [line(seconds, "\x1b[32mdone\x1b[0m")], time.time() > began + seconds
        lines = [line(0, "rebuilding index 'products' of 412,880 documents, 8 at a time")]
        for n in range(int((time.time() - began) * 2)):
            lines.append(line(n / 2, f"batch {n + 1:4}: 1,000 documents in {380 + n * 37 % 90} ms"))
            if n % 9 == 7:
                lines.append(line(n / 2, f"\x1b[33mWARN\x1b[0m  document P-{40000 + n * 131} has no category: "
                                         "put into 'other'"))
            if n % 14 == 13:
                done = (n + 1) / 4.1288
                lines.append(line(n / 2, f"\x1b[32mINFO\x1b[0m  {done:.1f} % done, segment {n // 14} merged"))
        return lines, False

    def _read(self, log_id, first):
        lines, over = self._lines(log_id)
        return {"fromLineNum": first, "toLineNum": len(lines), "isEnd": over and first > len(lines),
                "logContent": "".join(f"{text}\n" for text in lines[max(0, first - 1):])}

    def _beat(self):
        while True:
            for address in self.addresses:
                self._post("registry", {"registryGroup": "EXECUTOR", "registryKey": self.app, "registryValue": address})
            time.sleep(15)

    def _post(self, method, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=5)
        try:
            connection.request("POST", f"/xxl-job-admin/api/{method}", json.dumps(body), {
                "Content-Type": "application/json", "XXL-JOB-ACCESS-TOKEN": TOKEN})
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
