# SPDX-License-Identifier: MIT
"""
A server that answers as Active Directory does, as far as is written down: it is no product of Microsoft's. It binds and
searches; filters are read as RFC 4511 has them, with the two matching rules of Active Directory.

    directory = FalseDirectory(ACCOUNT, "password")
    directory.add("CN=Ann,OU=Staff,DC=corp", password="x", code=None, sAMAccountName=["ann"], ...)
    directory.url            # ldap://, in plain text
    directory.filters        # that it was asked, as texts
"""
import socketserver
import threading

BIT_AND, IN_CHAIN = "1.2.840.113556.1.4.803", "1.2.840.113556.1.4.1941"
WORDS = "80090308: LdapErr: DSID-0C090447, comment: AcceptSecurityContext error, data {}, v4563\0"


def element(tag, *parts):
    data = b"".join(part if isinstance(part, bytes) else str(part).encode() for part in parts)
    return bytes([tag, 0x84]) + len(data).to_bytes(4, "big") + data


def read_elements(data):
    """[(tag, content)] of what stands there one behind the other."""
    found = []
    while data:
        tag, length, at = data[0], data[1], 2
        if length & 0x80:
            at += length & 0x7f
            length = int.from_bytes(data[2:at], "big")
        found.append((tag, data[at:at + length]))
        data = data[at + length:]
    return found


class FalseDirectory:
    def __init__(self, account, password):
        self.entries = {"": {"supportedCapabilities": ["1.2.840.113556.1.4.800"]}}
        self.secrets = {account.lower(): (password, None)}
        self.filters = []
        directory = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                directory._serve(self.rfile, self.wfile)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"ldap://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def add(self, dn, password=None, code=None, **attributes):
        """`code`: why the right password is refused, as hexadecimal digits."""
        self.entries[dn] = attributes
        if password:
            self.secrets[dn.lower()] = (password, code)

    # ---- what it answers -------------------------------------------------------------------------------------------

    def _serve(self, rfile, wfile):
        while True:
            head = rfile.read(2)
            if len(head) < 2:
                return
            length = head[1]
            if length & 0x80:
                length = int.from_bytes(rfile.read(length & 0x7f), "big")
            (_, number), (tag, operation) = read_elements(rfile.read(length))[:2]
            if tag == 0x42:
                return
            if tag == 0x60:
                answers = [(0x61, *self._bind(operation))]
            else:
                answers = self._search(operation)
            for answer, *parts in answers:
                wfile.write(element(0x30, element(2, number), element(answer, *parts)))

    def _bind(self, operation):
        _, (_, dn), (_, password) = read_elements(operation)
        secret, code = self.secrets.get(dn.decode().lower(), (None, "525"))
        if secret is not None and password.decode() != secret:
            code = "52e"
        return element(10, bytes([49 if code else 0])), element(4, ""), element(4, WORDS.format(code) if code else "")

    def _search(self, operation):
        base, scope, _, _, _, _, wanted, names = read_elements(operation)
        text = self._text(*wanted)
        self.filters.append(text)
        names = [name.decode().lower() for _, name in read_elements(names[1])]
        answers = []
        for dn, attributes in self.entries.items():
            inside = dn.lower() == base[1].decode().lower() or (scope[1] != b"\0" and dn.lower().endswith(
                "," + base[1].decode().lower()))
            if inside and self._fits(dn, attributes, *wanted):
                shown = [element(0x30, element(4, name), element(0x31, *(element(4, value) for value in values)))
                         for name, values in attributes.items() if name.lower() in names]
                answers.append((0x64, element(4, dn), element(0x30, *shown)))
        return [*answers, (0x73, element(4, "ldap://other.corp/DC=other")),
                (0x65, element(10, b"\0"), element(4, ""), element(4, ""))]

    def _values(self, dn, attributes, name):
        wanted = {key.lower(): values for key, values in attributes.items()}
        return [str(value).lower() for value in wanted.get(name.decode().lower(), [])]

    def _is_in_chain(self, attributes, dn):
        for member in attributes.get("member", []):
            if member.lower() == dn or self._is_in_chain(self.entries.get(member, {}), dn):
                return True
        return False

    def _fits(self, dn, attributes, tag, content):
        if tag == 0x87:
            return content.lower() == b"objectclass" or bool(self._values(dn, attributes, content))
        parts = read_elements(content)
        if tag == 0xa0:
            return all(self._fits(dn, attributes, *part) for part in parts)
        if tag == 0xa1:
            return any(self._fits(dn, attributes, *part) for part in parts)
        if tag == 0xa2:
            return not self._fits(dn, attributes, *parts[0])
        if tag == 0xa3:
            return parts[1][1].decode().lower() in self._values(dn, attributes, parts[0][1])
        given = dict(parts)
        rule, value = given[0x81].decode(), given[0x83].decode().lower()
        if rule == IN_CHAIN:
            return self._is_in_chain(attributes, value)
        return any(int(held) & int(value) == int(value) for held in self._values(dn, attributes, given[0x82]))

    def _text(self, tag, content):
        if tag == 0x87:
            return f"({content.decode()}=*)"
        parts = read_elements(content)
        if tag in (0xa0, 0xa1, 0xa2):
            return f"({'&|!'[tag - 0xa0]}{''.join(self._text(*part) for part in parts)})"
        if tag == 0xa3:
            return f"({parts[0][1].decode()}={parts[1][1].decode()})"
        given = dict(parts)
        return f"({given[0x82].decode()}:{given[0x81].decode()}:={given[0x83].decode()})"
