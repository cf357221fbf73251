# SPDX-License-Identifier: MIT
"""Certificates made for one test: an authority, and what it vouches for."""
import datetime
import ipaddress
import os
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """Writes PEM files into the folder; `ca` is the path of its own certificate."""

    def __init__(self, folder, name="test authority"):
        self.folder = str(folder)
        self.name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._sign(_name(name), self._key.public_key(), [], True, 1)
        self.ca = self._write(f"{name}-ca.pem", self._certificate)

    def _sign(self, subject, public_key, hosts, is_ca, days):
        now = datetime.datetime.utcnow()
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(_name(self.name)).public_key(public_key)
            .serial_number(x509.random_serial_number()).not_valid_before(now - 9 * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name, certificate, key=None):
        path = os.path.join(self.folder, name.replace(" ", "-"))
        with open(path, "wb") as out:
            out.write(certificate.public_bytes(serialization.Encoding.PEM))
            if key:
                out.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                            serialization.NoEncryption()))
        return path

    def issue(self, name, *hosts, days=1):
        """The path of a file with the certificate and its key; negative days: it has expired. The file is made anew."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [
            x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in hosts
        ]
        return self._write(f"{name}.pem", self._sign(_name(name), key.public_key(), names, False, days), key)


def server_context(pem, clients=None):
    """For a server with that certificate; `clients`: the authority that its clients must be vouched for by."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
