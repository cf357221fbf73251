# SPDX-License-Identifier: MIT
"""The load executor against raw sockets and a small admin: what it answers, notes and calls back."""

import csv
import http.client
import http.server
import json
import select
import signal
import socket
import subprocess
import threading
import time

import pytest

from benchlib.proc import find_free_ports

DEADLINE_S = 120


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        threading.Event().wait(0.01)
    raise AssertionError(f"not in time: {what}")


class Executor:
    """One load executor and what it left behind."""

    def __init__(self, binary, folder, *options, addresses=1):
        self.port = find_free_ports(addresses)
        self.arrivals_path = folder / "arrivals.csv"
        self.process = subprocess.Popen(
            [binary, "--listen", f"127.0.0.1:{self.port}", "--addresses", str(addresses), "--arrivals",
             str(self.arrivals_path), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "listening on" in line, line

    def connect(self, index=0):
        sock = socket.create_connection(("127.0.0.1", self.port + index), timeout=DEADLINE_S)
        return sock

    def arrivals(self):
        with open(self.arrivals_path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def stop(self):
        """The counters; the exit status must be 0."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=DEADLINE_S)
        assert self.process.returncode == 0, err
        return json.loads(out)


@pytest.fixture
def start(executor_binary, tmp_path):
    started = []

    def starter(*options, **more):
        started.append(Executor(executor_binary, tmp_path, *options, **more))
        return started[-1]

    yield starter
    for executor in started:
        if executor.process.poll() is None:
            executor.process.kill()
            executor.process.communicate()


def request(path, body=b"", *headers, method="POST"):
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def run(log_id, **more):
    return {"jobId": 7, "executorHandler": "demo", "logId": log_id, "logDateTime": 1700000000000,
            "broadcastIndex": 0, "broadcastTotal": 1, **more}


def read_answers(sock, count):
    """(status, body) of each of the next answers of a connection."""
    file = sock.makefile("rb")
    answers = []
    for _ in range(count):
        status = int(file.readline().split()[1])
        length = 0
        while (line := file.readline().strip()):
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        answers.append((status, file.read(length)))
    return answers


def ask(sock, *args, **more):
    sock.sendall(request(*args, **more))
    return read_answers(sock, 1)[0]


def test_answers_as_executors_do(start):
    sock = start().connect()
    assert ask(sock, "/beat") == (200, b'{"code":200,"msg":"Success"}')
    assert json.loads(ask(sock, "/idleBeat", {"jobId": 7})[1])["code"] == 200
    assert json.loads(ask(sock, "/kill", {"jobId": 7})[1])["code"] == 200
    assert json.loads(ask(sock, "/run", run(1))[1])["code"] == 200
    log = json.loads(ask(sock, "/log", {"logId": 1, "fromLineNum": 1})[1])
    assert log["content"] == log["data"] and log["data"]["toLineNum"] == 1
    assert json.loads(ask(sock, "/log", {"logId": 1, "fromLineNum": 2})[1])["data"]["toLineNum"] == 0
    for path in ("/trigger", "/beat/", '/a"b'):
        assert json.loads(ask(sock, path)[1]) == {"code": 500,
                                                  "msg": f"invalid request, uri-mapping({path}) not found."}
    assert json.loads(ask(sock, "/beat", method="GET")[1])["msg"] == "invalid request, HttpMethod not support."
    assert json.loads(ask(sock, "/run", b"[1]")[1])["code"] == 500


def test_generation_trigger_has_the_other_path(start):
    sock = start("--generation", "trigger").connect()
    assert json.loads(ask(sock, "/trigger", run(1))[1])["code"] == 200
    assert "uri-mapping(/run) not found." in json.loads(ask(sock, "/run", run(2))[1])["msg"]


def test_post_without_length_is_an_empty_body(start):
    sock = start().connect()
    sock.sendall(b"POST /beat HTTP/1.1\r\nHost: x\r\n\r\n")
    assert read_answers(sock, 1)[0][0] == 200


def test_token_is_required_if_there_is_one(start):
    sock = start("--token", "secret").connect()
    assert json.loads(ask(sock, "/beat")[1])["msg"] == "The access token is wrong."
    assert json.loads(ask(sock, "/beat", b"", "Xxl-Job-Access-Token: secret")[1])["code"] == 200


def test_arrivals_are_noted_with_their_members(start):
    executor = start(addresses=2)
    before_us = time.time_ns() // 1000
    sock = executor.connect(1)
    ask(sock, "/run", run(9000000000000000001, jobId="12", broadcastIndex=2, broadcastTotal=5,
                          executorHandler='odd,"name\\', glueSource='{"logId":3,"a":[1,{"logId":4}]}',
                          nested={"logId": 5}))
    ask(sock, "/run", b' {"logId" : 2 ,\n"executorParams":null, "jobId":3,"executorHandler":"plain"} ')
    rows = wait_for(lambda: len(executor.arrivals()) == 2 and executor.arrivals(), "two arrivals in the file")
    assert before_us <= int(rows[0].pop("arrival_wall_us")) <= time.time_ns() // 1000
    assert rows[0] == {"log_id": "9000000000000000001", "job_id": "12", "log_date_time_ms": "1700000000000",
                       "broadcast_index": "2", "broadcast_total": "5", "port": str(executor.port + 1),
                       "handler": 'odd,\\"name\\\\'}
    assert (rows[1]["log_id"], rows[1]["job_id"], rows[1]["handler"]) == ("2", "3", "plain")
    assert executor.stop()["runs"] == 2


def test_arrivals_file_is_appended_to_with_one_header(start):
    for log_id in (1, 2):
        executor = start()
        ask(executor.connect(), "/run", run(log_id))
        executor.stop()
    assert [row["log_id"] for row in executor.arrivals()] == ["1", "2"]


def test_pipelined_requests_are_answered_in_order(start):
    executor = start()
    sock = executor.connect()
    paths = [f"/no{i}" for i in range(2000)]
    sender = threading.Thread(target=sock.sendall, args=(b"".join(request(path) for path in paths),))
    sender.start()
    answers = read_answers(sock, len(paths))
    sender.join()
    assert [json.loads(body)["msg"] for _, body in answers] == \
        [f"invalid request, uri-mapping({path}) not found." for path in paths]


def test_a_request_in_single_bytes_is_one_request(start):
    executor = start()
    sock, other = executor.connect(), executor.connect()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in request("/run", run(5)) + request("/beat"):
        sock.sendall(bytes([byte]))
        ask(other, "/idleBeat", {"jobId": 1})  # once it is answered, the byte before it has been read
    assert [json.loads(body)["code"] for _, body in read_answers(sock, 2)] == [200, 200]
    counters = executor.stop()
    assert (counters["runs"], counters["bad_requests"]) == (1, 0)


def test_a_peer_that_ends_its_stream_right_behind_a_request(start):
    executor = start()
    sock = executor.connect()
    sock.sendall(request("/beat"))
    sock.shutdown(socket.SHUT_WR)
    assert read_answers(sock, 1)[0][0] == 200
    assert sock.recv(1000) == b"", "the executor closes, too"


def test_largest_body_is_taken_and_one_byte_more_refused(start):
    executor = start()
    sock = executor.connect()
    limit = 5 * 1024 * 1024
    frame = len(json.dumps(run(1, glueSource="")))
    body = json.dumps(run(1, glueSource="x" * (limit - frame))).encode()
    assert len(body) == limit
    assert ask(sock, "/run", body)[0] == 200
    assert ask(sock, "/run", body + b" ") == (413, b"")
    assert ask(sock, "/beat")[0] == 200, "the connection must stay usable"
    assert executor.stop()["runs"] == 1


def test_expect_continue_is_answered_before_the_body(start):
    sock = start().connect()
    body = json.dumps(run(1)).encode()
    sock.sendall(f"POST /run HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode())
    assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
    sock.sendall(body)
    assert read_answers(sock, 1)[0][0] == 200


@pytest.mark.parametrize("text", [b"nonsense\r\n\r\n", b"POST /run HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                                  b"POST /run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"x" * 70000])
def test_what_is_no_request_ends_the_connection(start, text):
    executor = start()
    sock = executor.connect()
    sock.sendall(text)
    try:
        assert sock.recv(1000)[:12] in (b"HTTP/1.1 400", b"")
        assert sock.recv(1000) == b""
    except ConnectionResetError:
        pass
    assert ask(executor.connect(), "/beat")[0] == 200
    assert executor.stop()["bad_requests"] == 1


def test_silent_and_closing_addresses_note_the_arrival(start):
    executor = start("--silent-addresses", "1", "--close-addresses", "1", addresses=3)
    for call in (request("/run", run(2)), request("/beat")):
        closing = executor.connect(1)
        closing.sendall(call)
        assert closing.recv(1000) == b""
    silent = executor.connect(0)
    silent.sendall(request("/run", run(1)) + request("/beat"))
    assert ask(executor.connect(2), "/run", run(3))[0] == 200
    wait_for(lambda: {row["log_id"] for row in executor.arrivals()} == {"1", "2", "3"}, "three arrivals")
    ask(executor.connect(2), "/beat")
    silent.setblocking(False)
    with pytest.raises(BlockingIOError):
        silent.recv(1000)
    assert executor.stop()["runs_unanswered"] == 2


def test_delays_of_results_are_kept_one_by_one(start, admin):
    """Results that are not due yet must not go with one that is."""
    one = admin()
    executor = start("--admin", one.url, "--callback-delay-ms", "400", "--callback-connections", "1")
    sock = executor.connect()
    sent = {1: time.monotonic()}
    ask(sock, "/run", run(1))
    wait_for(lambda: executor.arrivals(), "the first arrival in the file")  # takes 200 ms
    sent[2] = time.monotonic()
    ask(sock, "/run", run(2))
    wait_for(lambda: sum(len(batch) for batch in one.bodies("callback")) == 2, "two results")
    for at, batch in zip(one.times("callback"), one.bodies("callback")):
        assert all(at >= sent[entry["logId"]] + 0.4 for entry in batch), "a result came before its time"
    executor.stop()


def test_answers_are_delayed_and_stay_in_order(start):
    sock = start("--answer-delay-ms", "150").connect()
    begin = time.monotonic()
    sock.sendall(request("/no1") + request("/no2"))
    answers = read_answers(sock, 2)
    assert time.monotonic() - begin >= 0.3
    assert ["no1" in answers[0][1].decode(), "no2" in answers[1][1].decode()] == [True, True]


def test_peer_that_goes_while_its_answer_is_delayed(start):
    executor = start("--answer-delay-ms", "100")
    gone = executor.connect()
    gone.sendall(request("/run", run(1)))
    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    gone.close()
    assert ask(executor.connect(), "/beat")[0] == 200
    assert executor.stop()["requests"] >= 1


class Admin:
    """Keeps what it is told; the first calls of a method get the answers in `first`, the others success."""

    def __init__(self, first=None, chunked=False):
        self.calls = []
        self.moments = []  # of the calls
        self.first = dict(first or {})
        admin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                method = self.path.rsplit("/", 1)[1]
                admin.moments.append((self.path, time.monotonic()))
                admin.calls.append((self.path, body, self.headers, self.client_address[1]))
                waiting = admin.first.get(method)
                answer = waiting.pop(0) if waiting else b'{"code":200,"msg":null,"content":{"code":500}}'
                if answer is None:
                    self.close_connection = True
                    return
                self.send_response(200)
                if chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for part in (answer[:5], answer[5:]):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128  # a connection that finds no place tries again a second later

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/ctx/"

    def bodies(self, method):
        return [body for path, body, *_ in list(self.calls) if path == f"/ctx/api/{method}"]

    def times(self, method):
        """When they came, on the monotonic clock."""
        return [moment for path, moment in list(self.moments) if path == f"/ctx/api/{method}"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def admin():
    admins = []

    def starter(**more):
        admins.append(Admin(**more))
        return admins[-1]

    yield starter
    for one in admins:
        one.close()


def test_registers_each_address_and_takes_it_back(start, admin):
    one = admin()
    executor = start("--admin", one.url, "--app-name", "app", "--token", "t", addresses=3)
    wait_for(lambda: len(one.bodies("registry")) == 3, "three registrations")
    values = [f"http://127.0.0.1:{executor.port + i}/" for i in range(3)]
    assert [body["registryValue"] for body in one.bodies("registry")] == values
    assert all(body["registryKey"] == "app" and body["registryGroup"] == "EXECUTOR" for body in one.bodies("registry"))
    assert one.calls[0][2]["XXL-JOB-ACCESS-TOKEN"] == "t" and one.calls[0][2]["XXL-JOB-APPNAME"] is None
    assert len({call[3] for call in one.calls}) == 1, "one connection is kept for all"
    executor.stop()
    assert [body["registryValue"] for body in one.bodies("registryRemove")] == values


@pytest.mark.parametrize("chunked", [False, True])
def test_results_come_in_batches(start, admin, chunked):
    one = admin(chunked=chunked)
    executor = start("--admin", one.url, "--batch", "50", "--callback-delay-ms", "300", "--callback-connections", "1")
    sock = executor.connect()
    began = time.monotonic()
    sock.sendall(b"".join(request("/run", run(i)) for i in range(1, 121)))
    read_answers(sock, 120)
    wait_for(lambda: sum(len(batch) for batch in one.bodies("callback")) == 120, "120 results")
    assert one.times("callback")[0] >= began + 0.3, "the delay was not over"
    batches = one.bodies("callback")
    assert [entry["logId"] for batch in batches for entry in batch] == list(range(1, 121))
    assert max(len(batch) for batch in batches) == 50
    assert batches[0][0] == {"logId": 1, "logDateTim": 1700000000000, "handleCode": 200}
    counters = executor.stop()
    assert (counters["results_confirmed"], counters["results_left"]) == (120, 0)


def test_each_address_calls_back_by_a_connection_of_its_own(start, admin):
    one = admin()
    executor = start("--admin", one.url, "--callback-delay-ms", "200", addresses=3)
    sockets = [executor.connect(index) for index in range(3)]
    for log_id in range(1, 13):
        ask(sockets[log_id % 3], "/run", run(log_id))
    wait_for(lambda: sum(len(batch) for batch in one.bodies("callback")) == 12, "twelve results")
    ports = {}
    for path, body, _, port in list(one.calls):
        if path == "/ctx/api/callback":
            for entry in body:
                ports.setdefault(entry["logId"] % 3, set()).add(port)
    assert [len(found) for found in ports.values()] == [1, 1, 1] and len(set.union(*ports.values())) == 3
    executor.stop()


def test_given_results_are_called_back_at_once(start, admin, tmp_path):
    one = admin()
    path = tmp_path / "results.csv"
    path.write_text("".join(f"{log_id},1700000000000\n" for log_id in range(1, 121)))
    executor = start("--admin", one.url, "--results", str(path), addresses=2)
    wait_for(lambda: sum(len(batch) for batch in one.bodies("callback")) == 120, "120 results")
    assert sorted(entry["logId"] for batch in one.bodies("callback") for entry in batch) == list(range(1, 121))
    assert sorted(len(batch) for batch in one.bodies("callback")) == [10, 10, 50, 50]
    wait_for(lambda: "all 120 results are confirmed" in executor.process.stderr.readline(), "a word about it")
    counters = executor.stop()
    assert counters["results_confirmed"] == 120 and counters["callback_s"] > 0


def test_beats_come_by_a_connection_each_and_round_by_round(start, admin):
    one = admin(first={"registry": [b'{"code":500}']})
    executor = start("--admin", one.url, "--app-name", "app", "--beats", "25", "--rounds", "2",
                     "--admin-timeout-ms", "60000")
    out, err = executor.process.communicate(timeout=DEADLINE_S)
    assert executor.process.returncode == 0, err
    values = [(body["registryKey"], body["registryValue"]) for body in one.bodies("registry")]
    assert len(values) == 51 and len(set(values)) == 25
    assert {key for key, _ in values} == {"app-0", "app-1", "app-2"}
    assert len({call[3] for call in one.calls[:25]}) == 25
    rounds = json.loads(out)["rounds"]
    assert [one["refused"] for one in rounds] == [1, 0]
    assert rounds[0]["seconds"] >= 0.1
    assert all(one["seconds"] * 1000 + 1 >= one["p99_ms"] >= one["p50_ms"] for one in rounds)


def test_only_slow_addresses_answer_late(start):
    executor = start("--answer-delay-ms", "2000", "--slow-addresses", "1", addresses=2)
    begin = time.monotonic()
    slow = executor.connect(1)
    slow.sendall(request("/beat"))
    fast = executor.connect(0)
    fast.sendall(request("/beat"))
    assert fast in select.select([slow, fast], [], [], DEADLINE_S)[0], "the one that was asked first answered first"
    assert read_answers(fast, 1)[0][0] == 200
    assert read_answers(slow, 1)[0][0] == 200 and time.monotonic() - begin >= 2


@pytest.mark.parametrize("refusal", [b'{"code":500,"msg":"not now"}', b'{"msg":"no code"}', b"", b"[]", None])
def test_a_refused_callback_is_sent_again(start, admin, refusal):
    one = admin(first={"callback": [refusal, refusal]})
    executor = start("--admin", one.url, "--callback-connections", "1")
    ask(executor.connect(), "/run", run(77))
    wait_for(lambda: len(one.bodies("callback")) == 3, "the third try")
    assert [entry["logId"] for batch in one.bodies("callback") for entry in batch] == [77, 77, 77]
    counters = executor.stop()
    assert (counters["results_confirmed"], counters["callback_failures"]) == (1, 2)


def test_the_next_admin_takes_over(start, admin):
    one = admin()
    dead = f"http://127.0.0.1:{find_free_ports(1)}"
    executor = start("--admin", f"{dead},{one.url}")
    ask(executor.connect(), "/run", run(1))
    wait_for(lambda: one.bodies("callback") and one.bodies("registry"), "a call at the second admin")
    assert executor.stop()["results_left"] == 0


def test_object_form_and_appname_of_the_trigger_generation(start, admin):
    one = admin()
    executor = start("--admin", one.url, "--generation", "trigger", "--callback-form", "object", "--app-name", "app")
    ask(executor.connect(), "/trigger", run(4))
    batch = wait_for(lambda: one.bodies("callback"), "a callback")[0]
    assert batch == {"callbackList": [{"logId": 4, "logDateTime": 1700000000000, "handleCode": 200}]}
    assert all(headers["XXL-JOB-APPNAME"] == "app" for _, _, headers, _ in one.calls)
    executor.stop()


def test_failing_refusing_and_killed_runs(start, admin):
    one = admin()
    executor = start("--admin", one.url, "--fail-percent", "30", "--refuse-percent", "20")
    sock = executor.connect()
    sock.sendall(b"".join(request("/run", run(i)) for i in range(1000)))
    refused = sum(json.loads(body)["code"] == 500 for _, body in read_answers(sock, 1000))
    assert 150 < refused < 250
    entries = wait_for(lambda: (found := [entry for batch in one.bodies("callback") for entry in batch])
                       and len(found) == 1000 - refused and found, "a result of each run that was not refused")
    assert 230 < sum(entry["handleCode"] == 500 for entry in entries) < 370
    assert executor.stop()["runs_refused"] == refused


def test_kill_and_idle_beat_see_runs_under_way(start, admin):
    one = admin()
    executor = start("--admin", one.url, "--callback-delay-ms", "100000")
    sock = executor.connect()
    ask(sock, "/run", run(1, jobId=7))
    ask(sock, "/run", run(2, jobId=8))
    assert json.loads(ask(sock, "/idleBeat", {"jobId": 7})[1])["code"] == 500
    assert json.loads(ask(sock, "/idleBeat", {"jobId": 9})[1])["code"] == 200
    ask(sock, "/kill", {"jobId": 7})
    counters = executor.stop()
    assert counters["results_confirmed"] == 2, "SIGTERM sends what still waits"
    codes = {entry["logId"]: entry["handleCode"] for batch in one.bodies("callback") for entry in batch}
    assert codes == {1: 500, 2: 200}


def test_more_results_than_may_wait_are_refused(start):
    executor = start("--admin", f"http://127.0.0.1:{find_free_ports(1)}", "--max-pending", "2",
                     "--callback-delay-ms", "100000")
    sock = executor.connect()
    codes = [json.loads(ask(sock, "/run", run(i))[1])["code"] for i in range(3)]
    assert codes == [200, 200, 500]
    executor.process.kill()


def test_stop_is_bounded_and_counts_what_is_left(start):
    executor = start("--admin", f"http://127.0.0.1:{find_free_ports(1)}")
    ask(executor.connect(), "/run", run(1))
    counters = executor.stop()
    assert counters["results_left"] == 1
    assert counters["callback_failures"] > 1, "it did not try to be rid of it"


@pytest.mark.parametrize("options, text", [
    (["--listen", "nowhere:1"], "--listen: 'nowhere' is not an IPv4 address"),
    (["--addresses", "0"], "--addresses: '0' is not a whole number from 1"),
    (["--batch", "5x"], "--batch: '5x' is not"),
    (["--generation", "walk"], "--generation: 'walk' is neither"),
    (["--admin", "ftp://x"], "--admin: 'ftp://x' does not begin with http://"),
    (["--silent-addresses", "2"], "more than the 1 addresses"),
    (["--token", 'a"b'], "--token"),
    (["--listen", "127.0.0.1:1", "--arrivals", "/nonexistent/file"], "/nonexistent/file: cannot open"),
    (["word"], "'word' is no option"),
])
def test_bad_options_are_named(executor_binary, options, text):
    done = subprocess.run([executor_binary, *options], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 1 and text in done.stderr


def test_a_port_in_use_is_named(start, executor_binary):
    port = start().port
    done = subprocess.run([executor_binary, "--listen", f"127.0.0.1:{port}"], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False)
    assert done.returncode == 1 and f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr


def test_connection_close_clients_are_served(start):
    client = http.client.HTTPConnection("127.0.0.1", start().port, timeout=DEADLINE_S)
    client.request("POST", "/beat", headers={"Connection": "close"})
    answer = client.getresponse()
    assert answer.status == 200 and answer.getheader("connection") is None
