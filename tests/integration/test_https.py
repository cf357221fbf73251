# SPDX-License-Identifier: MIT
"""HTTPS by the node itself: protocols, certificates and their files, clients with certificates, what is told."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

from harness.builds import python_executor
from harness.certificates import Authority
from harness.cluster import TOKEN
from harness.doctor import examine
from harness.executors import PythonExecutor
from harness.node import run_shardwheel
from harness.process import free_ports, wait_until


class Site:
    def __init__(self, world):
        self.world = world
        self.authority = Authority(world.folder, "ours")
        self.pem = self.authority.issue("node", "127.0.0.1", "localhost")
        self.node = world.node(keys={"server.ssl.certificate": self.pem})
        self.checked = ssl.create_default_context(cafile=self.authority.ca)

    def connect(self, context=None, name="localhost"):
        raw = socket.create_connection(("127.0.0.1", self.node.port), timeout=20)
        return (context or self.checked).wrap_socket(raw, server_hostname=name)


@pytest.fixture(scope="module")
def site(make_module_world, mariadb):
    return Site(make_module_world(mariadb))


def s_client(port, *arguments, text=b"", seconds=20):
    """What openssl says of a connection."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments], input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    return done.stdout.decode(errors="replace")


def curl(*arguments):
    return subprocess.run(["curl", "-sS", "--max-time", "20", *arguments], capture_output=True, text=True)


# ---- the protocol ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, expected", [
    (["-tls1_2"], "Protocol  : TLSv1.2"),
    (["-tls1_3"], "TLSv1.3, Cipher is TLS_"),
    (["-alpn", "h2,http/1.1"], "ALPN protocol: http/1.1"),
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"], "Cipher is ECDHE-ECDSA-CHACHA20-POLY1305"),
    (["-servername", "nobody.knows"], "Verify return code"),
])
def test_what_is_spoken(site, arguments, expected):
    assert expected in s_client(site.node.port, *arguments)


@pytest.mark.parametrize("arguments", [
    ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
    ["-tls1", "-cipher", "ALL:@SECLEVEL=0"],
    ["-tls1_2", "-cipher", "AES128-SHA:AES256-GCM-SHA384:@SECLEVEL=0"],
    ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0"],
    ["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"],
    ["-tls1_2", "-cipher", "DHE:PSK:3DES:RC4:@SECLEVEL=0"],
    ["-alpn", "h2"],
])
def test_what_is_refused(site, arguments):
    said = s_client(site.node.port, *arguments)
    assert "Cipher is (NONE)" in said and "alert" in said, said


def test_no_renegotiation(site):
    said = s_client(site.node.port, "-tls1_2", text=b"R\nGET /probe HTTP/1.0\n\n")
    assert "RENEGOTIATING" in said and "no renegotiation" in said, said


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_sessions_are_taken_up_again(site, version, tmp_path):
    session = tmp_path / "session"
    request = b"GET /actuator/health/liveness HTTP/1.0\r\n\r\n"
    first = s_client(site.node.port, version, "-ign_eof", "-sess_out", str(session), text=request)
    again = s_client(site.node.port, version, "-ign_eof", "-sess_in", str(session), text=request)
    assert "200 OK" in first and "New, TLS" in first, first
    assert "200 OK" in again and "Reused, TLS" in again, again


def test_curl_checks_it(site):
    url = f"https://localhost:{site.node.port}/actuator/health/liveness"
    done = curl("--cacert", site.authority.ca, "-i", url)
    assert done.returncode == 0 and "200 OK" in done.stdout, done
    assert curl(url).returncode == 60
    assert curl("--cacert", site.authority.ca, f"https://127.0.0.2:{site.node.port}/").returncode == 60
    page = curl("--cacert", site.authority.ca, "-i", f"https://localhost:{site.node.port}/openapi.json")
    assert "Strict-Transport-Security: max-age=31536000\n" in page.stdout.replace("\r", "")


def test_plain_http_gets_a_readable_answer(site):
    done = curl("-i", f"http://127.0.0.1:{site.node.port}/api/registry", "-d", "{}")
    assert "400 Bad Request" in done.stdout and "this port speaks HTTPS" in done.stdout, done
    assert "Strict-Transport-Security" not in done.stdout


def test_cookies_are_secure(site):
    node = site.node
    tables = site.world.tables
    columns = {row["Field"] for row in tables.rows("SHOW COLUMNS FROM xxl_job_user")}
    assert "password" in columns
    answer = node.request("POST", "/api/v1/session", json.dumps({"username": "admin", "password": "123456"}),
                          {"Content-Type": "application/json"})
    cookies = answer.headers.get_all("Set-Cookie") or []
    assert answer.status < 300 and cookies and all("; Secure" in cookie for cookie in cookies), (answer, cookies)


def test_garbage_harms_nobody(site):
    before = site.node.metrics()["shardwheel_http_connections"]
    for sent in (os.urandom(3000), b"\x16" + os.urandom(3000), b"\x16\x03\x01\x40\x00" + os.urandom(16384), b"\0",
                 b"\x16\x03\x01\x00\x05hello", b"\x80\x2e\x01\x00\x02"):
        with socket.create_connection(("127.0.0.1", site.node.port), timeout=20) as connection:
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
            except OSError:  # it was closed before all came
                pass
    assert site.node.get("/actuator/health/liveness").status == 200
    wait_until(lambda: site.node.metrics()["shardwheel_http_connections"] <= before + 1, 20, "them to be closed")


# ---- requests --------------------------------------------------------------------------------------------------------


def read_answers(connection, count):
    """The statuses of so many answers with a length."""
    statuses, data = [], b""
    while len(statuses) < count:
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536) or pytest.fail(f"it ended after {len(statuses)} answers")
        head, _, data = data.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(data) < length:
            data += connection.recv(65536) or pytest.fail("it ended within an answer")
        data = data[length:]
        statuses.append(int(head.split()[1]))
    return statuses


def test_pipelined_requests(site):
    one = b"GET /actuator/health/liveness HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"
    with site.connect() as connection:
        connection.sendall(one * 200)
        assert read_answers(connection, 200) == [200] * 200
        for byte in one[:-1]:
            connection.sendall(bytes([byte]))  # each a record
        connection.sendall(one[-1:])
        assert read_answers(connection, 1) == [200]


def test_large_bodies_and_answers(site):
    """A batch of callbacks of 12 MB, and one that is refused while it comes."""
    batch = [{"logId": 900000000 + i, "logDateTim": 1, "handleCode": 200, "handleMsg": "m" * 50000} for i in range(250)]
    # A busy database may take longer than such a call waits; executors repeat it.
    wait_until(lambda: site.node.post("/api/callback", batch, TOKEN, seconds=60).code == 200, 60, "its success")
    head = ("POST /api/callback HTTP/1.1\r\nHost: x\r\nXXL-JOB-ACCESS-TOKEN: wrong\r\n"
            f"Content-Length: {16 << 20}\r\n\r\n").encode()
    with site.connect() as connection:
        connection.sendall(head + b"x" * (4 << 20))
        assert connection.recv(4096).startswith(b"HTTP/1.1 ")
    with site.connect() as connection:  # one that reads slowly
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        data = b""
        while piece := connection.recv(3000):
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        assert int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]) == len(body) > 100000


def test_the_cluster_knows_the_url(site):
    assert site.world.tables.value("SELECT url FROM shardwheel_node").startswith("https://")


# ---- files -----------------------------------------------------------------------------------------------------------


def shown(node):
    """The serial number of the certificate that a new connection gets."""
    with socket.create_connection(("127.0.0.1", node.port), timeout=20) as raw:
        with node.tls.wrap_socket(raw) as connection:
            return connection.getpeercert(binary_form=True)


def test_changed_files_are_read_again(world):
    authority = Authority(world.folder)
    live = f"{world.folder}/live.pem"
    shutil.copy(authority.issue("one", "127.0.0.1"), live)
    node = world.node(keys={"server.ssl.certificate": live})
    first = shown(node)
    one = b"GET /actuator/health/liveness HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"
    with node.tls.wrap_socket(socket.create_connection(("127.0.0.1", node.port), timeout=20)) as kept:
        kept.sendall(one)
        assert read_answers(kept, 1) == [200]
        os.replace(authority.issue("two", "127.0.0.1"), live)
        wait_until(lambda: shown(node) != first, 30, "the new certificate")
        assert node.log_text().count("event=certificate_loaded") == 2
        kept.sendall(one)
        assert read_answers(kept, 1) == [200]
    second = shown(node)

    with open(live, "w", encoding="utf-8") as out:
        out.write("broken\n")
    wait_until(lambda: "event=certificate_kept" in node.log_text(), 30, "the refusal")
    assert "live.pem has no certificate in PEM" in node.log_text()
    assert shown(node) == second

    shutil.copy(authority.issue("three", "127.0.0.1"), live)
    before = node.log_text().count("event=reloaded")
    node.signal(signal.SIGHUP)  # at once
    wait_until(lambda: node.log_text().count("event=reloaded") > before, 10, "the reload")
    assert shown(node) not in (first, second)


@pytest.mark.parametrize("days, event", [(-1, "event=certificate_expired"), (3, "event=certificate_expires_soon")])
def test_one_that_expires_is_told(world, days, event):
    node = world.node(keys={"server.ssl.certificate": Authority(world.folder).issue("old", "127.0.0.1", days=days)})
    assert event in node.log_text()


def refused(world, keys):
    """What the node says that does not start."""
    merged = {**world.keys(), "server.port": free_ports(), **keys}
    done = run_shardwheel([f"--{key}={value}" for key, value in merged.items()])
    assert done.returncode != 0
    return done.stderr


def test_what_cannot_be_used_is_named_with_its_key(world):
    authority = Authority(world.folder)
    pem, other = authority.issue("one", "127.0.0.1"), authority.issue("two", "127.0.0.1")
    assert "server.ssl.certificate: cannot read /no/such.pem: No such file" in refused(
        world, {"server.ssl.certificate": "/no/such.pem"})
    said = refused(world, {"server.ssl.certificate": pem, "server.ssl.certificate-private-key": other})
    assert f"the key in {other} does not match the (first) certificate in {pem}" in said
    assert "server.ssl.enabled needs server.ssl.certificate or server.ssl.key-store" in refused(
        world, {"server.ssl.enabled": "true"})
    found = examine(world, keys={"server.ssl.certificate": pem, "server.ssl.certificate-private-key": other})
    assert "does not match" in found.find("https_unusable")[0]["what"]


def keytool(*arguments):
    subprocess.run(["keytool", *arguments], check=True, capture_output=True)


def test_key_stores_of_java(world):
    folder = world.folder
    jks, secret = f"{folder}/server.jks", "of the store"
    keytool("-genkeypair", "-alias", "node", "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=127.0.0.1", "-ext",
            "san=ip:127.0.0.1", "-validity", "90", "-storetype", "JKS", "-keystore", jks, "-storepass", secret,
            "-keypass", secret)
    said = refused(world, {"server.ssl.key-store": jks, "server.ssl.key-store-password": secret,
                           "server.ssl.key-store-type": "JKS"})
    line = said.split("To convert it to PKCS12: ")[1].split('"')[0].split("\n")[0]
    assert line == f"keytool -importkeystore -srckeystore {jks} -destkeystore {folder}/server.p12 -deststoretype PKCS12"
    keytool(*line.split()[1:], "-srcstorepass", secret, "-deststorepass", secret)

    said = refused(world, {"server.ssl.key-store": f"{folder}/server.p12", "server.ssl.key-store-password": "wrong"})
    assert "server.ssl.key-store-password: is wrong for" in said and "wrong for" in said
    node = world.node(keys={"server.ssl.key-store": f"file:{folder}/server.p12",
                            "server.ssl.key-store-password": secret, "server.ssl.key-password": secret,
                            "server.ssl.key-alias": "node", "server.ssl.key-store-type": "PKCS12"})
    assert node.get("/actuator/health/liveness").status == 200
    assert secret not in node.log_text()


# ---- clients with certificates ---------------------------------------------------------------------------------------


def with_certificate(pem):
    context = ssl._create_unverified_context()
    if pem:
        context.load_cert_chain(pem)
    return context


def ask(node, pem):
    """The status, or None: there was no answer."""
    node.tls = with_certificate(pem)
    try:
        return node.get("/actuator/health/liveness").status
    except OSError:
        return None


@pytest.mark.parametrize("mode", ["need", "want"])
def test_clients_with_certificates(world, mode):
    ours, clients, others = (Authority(world.folder, name) for name in ("ours", "clients", "others"))
    good, foreign = clients.issue("good"), others.issue("foreign")
    expired = clients.issue("expired", days=-1)
    node = world.node(keys={"server.ssl.certificate": ours.issue("node", "127.0.0.1"),
                            "server.ssl.client-auth": mode, "server.ssl.trust-certificate": clients.ca},
                      healthy_within=None)
    wait_until(lambda: "event=started" in node.log_text(), 30, "the node to start")
    assert ask(node, good) == 200
    assert ask(node, foreign) is None
    assert ask(node, expired) is None
    assert ask(node, None) == (200 if mode == "want" else None)
    for reason in ["unable to get local issuer certificate", "certificate has expired"] + [
            "peer did not return a certificate"] * (mode == "need"):
        wait_until(lambda: reason in node.log_text(), 10, reason)
    assert "event=handshake_failed peer=127.0.0.1" in node.log_text()
    node.tls = with_certificate(good)
    if mode == "need":
        found = examine(world)
        assert "certificate required" in found.find("node_page_away")[0]["what"], found


# ---- who looks -------------------------------------------------------------------------------------------------------


def test_doctor_looks_at_certificates(world):
    authority = Authority(world.folder)
    pem = f"{world.folder}/live.pem"
    host = socket.gethostname()
    shutil.copy(authority.issue("good", "127.0.0.1", host, days=60), pem)
    keys = {"server.ssl.certificate": pem, "shardwheel.http.bind": "127.0.0.1"}
    node = world.node(keys=keys)
    found = examine(world, keys=keys)
    assert {f["code"] for f in found.findings} >= {"https", "node_pages"}, found
    assert not [f for f in found.findings if f["code"].startswith(("https_", "node_cert", "node_page_"))], found

    shutil.copy(authority.issue("elsewhere", "elsewhere.example", days=3), pem)
    wait_until(lambda: "event=certificate_expires_soon" in node.log_text(), 30, "the new certificate")
    found = examine(world, keys=keys)
    assert "elsewhere.example" in found.find("node_certificate_host")[0]["what"]
    assert "elsewhere.example" in found.find("https_expires_soon")[0]["what"]

    shutil.copy(authority.issue("old", "127.0.0.1", days=-1), pem)
    wait_until(lambda: "event=certificate_expired" in node.log_text(), 30, "the new certificate")
    found = examine(world, keys=keys)
    assert found.find("https_expired") and found.find("node_certificate"), found


def test_the_url_has_a_name_that_the_certificate_has(world):
    host = socket.gethostname().split(".")[0]
    pem = Authority(world.folder).issue("named", "other.site.example", f"{host}.site.example")
    world.node(keys={"server.ssl.certificate": pem})
    url = wait_until(lambda: world.tables.value("SELECT url FROM shardwheel_node"), 60, "the node's row")
    assert url.startswith(f"https://{host}.site.example:")


def test_an_executor_registers_over_https(site):
    group = site.world.tables.add_group("python-https")
    executor = PythonExecutor(site.world.folder, *python_executor(), f"https://localhost:{site.node.port}",
                              "python-https", TOKEN)
    executor.env = {**executor.env, "SSL_CERT_FILE": site.authority.ca}
    site.world.others.append(executor)
    executor.start()
    wait_until(
        lambda: site.world.tables.value("SELECT address_list FROM xxl_job_group WHERE id = %s",
                                        (group,)) == executor.address, 45, "the executor to register")
    job = site.world.tables.add_single_fire(group, 2, "demoJobHandler")[0]
    assert site.world.tables.wait_logs(job, "handle_code <> 0")[0]["handle_code"] == 200
