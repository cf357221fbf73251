# SPDX-License-Identifier: MIT
"""A mail server of the tests: takes what it is sent, and refuses or hangs as it is told."""
import base64
import email
import email.policy
import os
import socketserver
import ssl
import subprocess
import threading

from .process import free_ports


class Mail:
    def __init__(self, sender, recipients, raw):
        self.sender = sender
        self.recipients = recipients
        self.raw = raw
        self.message = email.message_from_bytes(raw, policy=email.policy.default)

    @property
    def text(self):
        return self.message.get_content()


class MailServer:
    """`refused`: recipients that it does not take. `hang`: it accepts connections and says nothing. `login`: (user,
    password) that must be given. `tls`: a folder for a certificate; then mails are taken after STARTTLS only."""

    def __init__(self, login=None, tls=None):
        self.port = free_ports()
        self.refused = set()
        self.hang = threading.Event()
        self.login = login
        self.mails = []
        self.connections = 0
        self._tls = _make_tls(tls) if tls else None
        self._server = None
        self.start()

    def start(self):
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                outer.connections += 1
                outer._serve(self)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self._server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def keys(self):
        return {"spring.mail.host": "127.0.0.1", "spring.mail.port": self.port, "spring.mail.from": "admin@example.org"}

    def _serve(self, handler):
        if self.hang.is_set():
            handler.rfile.read(1)
            return
        stream = _Stream(handler.connection, handler.rfile)
        stream.say("220 test")
        sender, recipients, user, secure = None, [], None, False
        while True:
            line = stream.line()
            if line is None:
                return
            verb = line[:4].upper()
            if self._server is None:
                return
            if verb in ("EHLO", "HELO"):
                offers = ["test", "SIZE 10000000"]
                offers += ["STARTTLS"] if self._tls and not secure else []
                offers += ["AUTH PLAIN"] if self.login else []
                for i, offer in enumerate(offers):
                    stream.say(f"250{' ' if i == len(offers) - 1 else '-'}{offer}")
            elif verb == "STAR" and self._tls:
                stream.say("220 go on")
                wrapped = self._tls.wrap_socket(handler.connection, server_side=True)
                stream = _Stream(wrapped, wrapped.makefile("rb"))
                secure = True
            elif verb == "AUTH":
                given = line.split()[2] if len(line.split()) > 2 else stream.ask("334 ")
                user = tuple(base64.b64decode(given).decode().split("\0")[1:])
                stream.say("235 fine" if user == self.login else "535 who are you")
            elif (self.login and user != self.login) or (self._tls and not secure):
                stream.say("530 not yet")
            elif verb == "MAIL":
                sender, recipients = line, []
                stream.say("250 ok")
            elif verb == "RCPT":
                address = line.split("<", 1)[1].split(">", 1)[0]
                if address in self.refused:
                    stream.say("550 nobody of that name")
                else:
                    recipients.append(address)
                    stream.say("250 ok")
            elif verb == "DATA":
                stream.say("354 go on")
                raw = stream.data()
                self.mails.append(Mail(sender, recipients, raw))
                stream.say("250 taken")
            elif verb == "QUIT":
                stream.say("221 bye")
                return
            else:
                stream.say("250 ok")


class _Stream:
    def __init__(self, connection, reader):
        self._connection = connection
        self._reader = reader

    def say(self, text):
        self._connection.sendall((text + "\r\n").encode())

    def ask(self, text):
        self.say(text)
        return self.line()

    def line(self):
        line = self._reader.readline()
        return line.decode().rstrip("\r\n") if line else None

    def data(self):
        lines = []
        while True:
            line = self._reader.readline()
            if line in (b".\r\n", b""):
                return b"".join(lines)
            lines.append(line[1:] if line.startswith(b"..") else line)


def _make_tls(folder):
    path = os.path.join(folder, "mail.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=mail.test",
         "-keyout", path + ".key", "-out", path],
        check=True, capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, path + ".key")
    return context
