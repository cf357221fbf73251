# SPDX-License-Identifier: MIT
"""Receivers of webhooks for tests: check signatures as the real ones do, and refuse or hang as they are told."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
import urllib.parse

from .process import free_ports

DINGTALK_SECRET = "SECdingtalk"
FEISHU_SECRET = "feishu+/="
JSON_SECRET = "json-secret"


def digest(key, text):
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()


class Call:
    def __init__(self, path, query, headers, body):
        self.path, self.query, self.headers, self.body = path, query, headers, body
        self.json = json.loads(body)
        self.at = time.monotonic()

    @property
    def text(self):
        j = self.json
        if "text" in j and isinstance(j["text"], str):
            return j["text"]
        return j["text"]["content"] if "text" in j else j["content"]["text"]


class Webhooks:
    """`replies[path]`: (status, body) instead of the usual answer. `hang`: paths that say nothing until it is cleared.
    `tls`: a folder for a certificate of localhost."""

    def __init__(self, tls=None):
        self.port = free_ports()
        self.calls = []
        self.refused = []  # (path, why)
        self.replies = {}
        self.hanging = set()
        self.hung = []  # names of calls that came to them
        self.release = threading.Event()
        self.ca = _make_certificate(tls) if tls else None
        self._server = None
        self.start()

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer._serve(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self._server = Server(("127.0.0.1", self.port), Handler)
        if self.ca:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.ca, self.ca + ".key")
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.release.set()
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def url(self, path):
        return f"{'https' if self.ca else 'http'}://localhost:{self.port}/{path}"

    def at(self, path):
        return [call for call in self.calls if call.path == "/" + path]

    def _serve(self, handler):
        parts = urllib.parse.urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers["Content-Length"])).decode()
        call = Call(parts.path, dict(urllib.parse.parse_qsl(parts.query, strict_parsing=bool(parts.query))),
                    dict(handler.headers), body)
        name = parts.path[1:]
        if name in self.hanging:
            self.hung.append(name)
            self.release.wait()
            return
        kind = name.split("-")[0]
        why = getattr(self, "_check_" + kind)(call)
        usual = {"dingtalk": '{"errcode":0,"errmsg":"ok"}', "wecom": '{"errcode":0,"errmsg":"ok"}',
                 "feishu": '{"code":0,"data":{},"msg":"success"}'}
        status, answer = self.replies.get(name, (200, usual.get(kind, "ok")))
        if why:
            self.refused.append((name, why))
            status, answer = (200, json.dumps({"errcode": 310000, "code": 19021, "errmsg": why, "msg": why}))
            status = 403 if kind in ("slack", "json") else status
        elif name not in self.replies:
            self.calls.append(call)
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer.encode())

    def _check_dingtalk(self, call):
        if call.query.get("access_token") != "t":
            return "no token"
        stamp = call.query.get("timestamp", "0")
        if abs(int(stamp) - time.time() * 1000) > 60000:
            return "timestamp"
        if call.query.get("sign") != base64.b64encode(digest(DINGTALK_SECRET, f"{stamp}\n{DINGTALK_SECRET}")).decode():
            return "sign"
        return None if call.json["msgtype"] == "text" and call.json["text"]["content"] else "format"

    def _check_wecom(self, call):
        if len(call.json["text"]["content"].encode()) > 2048:
            return "too long"
        return None if call.json["msgtype"] == "text" and call.query == {"key": "k"} else "format"

    def _check_feishu(self, call):
        stamp = call.json.get("timestamp", "0")
        if abs(int(stamp) - time.time()) > 60 or len(call.body.encode()) > 20000:
            return "timestamp"
        if call.json.get("sign") != base64.b64encode(digest(f"{stamp}\n{FEISHU_SECRET}", "")).decode():
            return "sign"
        return None if call.json["msg_type"] == "text" and call.json["content"]["text"] else "format"

    def _check_slack(self, call):
        return None if call.json.keys() == {"text", "mrkdwn"} and call.json["mrkdwn"] is False else "format"

    def _check_json(self, call):
        signature = call.headers.get("X-Shardwheel-Signature")
        if signature and signature != "sha256=" + digest(JSON_SECRET, call.body).hex():
            return "sign"
        return None


def _make_certificate(folder):
    path = os.path.join(folder, "webhooks.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", path + ".key", "-out", path],
        check=True, capture_output=True,
    )
    return path
