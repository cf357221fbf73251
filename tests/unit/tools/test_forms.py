# SPDX-License-Identifier: MIT
"""Forms as src/http reads them, against Python's readers: urllib.parse and email. The C files are compiled for it.

What differs on purpose. Fields of a form (src/http/form.h): a % without two hexadecimal digits, %00, a NUL, and more
than 1000 fields are refused; Python keeps the first as text and has no bound that we could share. Bodies of
multipart/form-data (src/http/multipart.h): line ends are CR LF alone, where Python takes CR and LF for one too; header
lines are not folded, backslashes in quotes stay, name*= is not looked at; and what Python calls a defect, a part
without a name, and an encoding are refused. A boundary with more behind it on its line ends the body or makes it
refused, as in the original's server; to Python it is text. Parameters that break the grammar, as name="a"b, are read
one way here and another there; so are names that are not ASCII. One that is given twice: the first counts."""

import ctypes
import email
import pathlib
import random
import re
import subprocess
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIELDS_MAX = 1000  # of a form, and of a body here
OTHER_BREAKS = re.compile(rb"\r(?!\n)|(?<!\r)\n")
DISPOSITION = re.compile(rb"(?i)content-disposition:[^\r\n]*")
GRAMMAR = re.compile(rb"(?i)content-disposition: *form-data(; ?[a-z-]+=(\"[ !#-~]*\"|[!#-:<>-~]+))*")


class FormField(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Form(ctypes.Structure):
    _fields_ = [("fields", ctypes.POINTER(FormField)), ("count", ctypes.c_size_t), ("memory", ctypes.c_void_p)]


class Part(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("value", ctypes.c_void_p),
                ("name_len", ctypes.c_size_t), ("value_len", ctypes.c_size_t)]


class Reader:
    """The C code. Both give a list of (name, value), or None and the reason of a refusal."""

    def __init__(self, folder):
        library = folder / "forms.so"
        sources = [ROOT / "src" / name for name in
                   ("http/form.c", "http/multipart.c", "http/message.c", "base/buf.c", "base/err.c", "base/utf8.c")]
        subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-O1", "-g", "-shared", "-fPIC", f"-I{ROOT}/include",
                        f"-I{ROOT}/src", "-o", library, *sources], check=True)
        self.code = ctypes.CDLL(str(library))
        self.why = ctypes.create_string_buffer(4096)

    def form(self, text):
        form = Form()
        if self.code.form_parse(text, ctypes.c_size_t(len(text)), ctypes.byref(form), self.why):
            return None, self.why.value
        fields = [(form.fields[i].name, form.fields[i].value) for i in range(form.count)]
        self.code.form_fini(ctypes.byref(form))
        return fields, b""

    def multipart(self, content_type, body):
        parts, count = (Part * FIELDS_MAX)(), ctypes.c_size_t()
        body = ctypes.create_string_buffer(body, len(body) or 1), len(body)
        if self.code.multipart_parse(content_type, body[0], ctypes.c_size_t(body[1]), parts,
                                     ctypes.c_size_t(FIELDS_MAX), ctypes.byref(count), self.why):
            return None, self.why.value
        return [(ctypes.string_at(part.name, part.name_len), ctypes.string_at(part.value, part.value_len))
                for part in parts[:count.value]], b""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return Reader(tmp_path_factory.mktemp("forms"))


# ---- application/x-www-form-urlencoded --------------------------------------------------------------------------


def python_form(text):
    """None for what we refuse on purpose."""
    if re.search(rb"%(?![0-9a-fA-F]{2})|%00|\0", text) or text.count(b"&") >= FIELDS_MAX:
        return None
    pairs = urllib.parse.parse_qsl(text.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]


FORM_PIECES = [b"&", b"&&", b"=", b"==", b"+", b"%20", b"%2B", b"%26", b"%3D", b"%e4%b8%ad", b"%C3", b"%ff", b"%0a",
               b"%0D%0A", b"%25", b"%2525", b"%", b"%0", b"%00", b"%zz", b"%2 ", b"\0", b";", b"?", b"#", b"\xe4\xb8",
               b"\xff", b"ids[]", b"jobGroup", b"a", b"b", b" ", b"\r\n", b"'", b"<", b"0", b"-1"]


def test_forms_are_read_as_by_python(reader):
    drawn = random.Random(20261124)
    accepted = 0
    for _ in range(8000):
        pieces = FORM_PIECES if drawn.random() < 0.3 else [p for p in FORM_PIECES if p not in (b"%", b"%0", b"%00",
                                                           b"%zz", b"%2 ", b"\0")]
        text = b"".join(drawn.choice(pieces) for _ in range(drawn.randrange(16)))
        got, why = reader.form(text)
        assert got == python_form(text), (text, why)
        assert got is not None or why, text
        accepted += got is not None
    assert accepted > 2000


def test_forms_of_bytes_are_read_as_by_python(reader):
    drawn = random.Random(7)
    for _ in range(3000):
        text = bytes(drawn.choice(b"%%&=+0123456789abcdefABCDEFxyz\xc3\xa4") for _ in range(drawn.randrange(40)))
        assert reader.form(text)[0] == python_form(text), text


def test_what_python_writes_is_read_as_it_was(reader):
    drawn = random.Random(3)
    for _ in range(3000):
        pairs = [(drawn.randbytes(drawn.randrange(6)).replace(b"\0", b"z"),
                  drawn.randbytes(drawn.randrange(20)).replace(b"\0", b"%")) for _ in range(drawn.randrange(6))]
        assert reader.form(urllib.parse.urlencode(pairs).encode())[0] == pairs


@pytest.mark.parametrize("count", (FIELDS_MAX, FIELDS_MAX + 1))
def test_a_form_has_a_thousand_fields_at_most(reader, count):
    text = b"&".join(b"a=%d" % i for i in range(count))
    assert reader.form(text)[0] == python_form(text)


# ---- multipart/form-data -----------------------------------------------------------------------------------------


def python_multipart(content_type, body):
    """The fields, and why we may refuse them: both may be None."""
    message = email.message_from_bytes(b"Content-Type: " + content_type + b"\r\n\r\n" + body)
    if not message.is_multipart():
        return None, "no parts"
    why = "a defect" if message.defects else None
    fields = []
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")
        if part.is_multipart() or part.defects or part.get_param("name*", header="content-disposition"):
            why = why or "a part of its own kind"
        if len(part.get_all("content-disposition", [])) > 1:
            why = why or "a part with two names"
        if not isinstance(name, str):
            why = why or "a part without a name"
            continue
        encoding = part.get("content-transfer-encoding", "8bit").strip().lower()
        if encoding not in ("7bit", "8bit", "binary"):
            why = why or "an encoding"
            continue
        fields.append((name.encode("ascii", "surrogateescape"), part.get_payload(decode=True)))
    return fields, why


def draw_value(drawn, boundary):
    kinds = (lambda: b"", lambda: b"plain", lambda: drawn.randbytes(drawn.randrange(40)),
             lambda: b"\r\n" * drawn.randrange(4), lambda: b"--" + boundary[:-1], lambda: b"a--" + boundary,
             lambda: "中文".encode() * 3, lambda: b"a\r\nb: c\r\n\r\nd", lambda: b"--", lambda: b"-" * 80)
    return drawn.choice(kinds)()


def draw_body(drawn):
    """A content type, a body, and the fields in it."""
    characters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,-./:=?"
    boundary = bytes(drawn.choice(characters) for _ in range(drawn.randint(1, 70)))
    fields, body = [], drawn.choice((b"", b"", b"", b"said before\r\n", b"\r\n"))
    for _ in range(drawn.randrange(1, 5)):
        name = drawn.choice((b"a", b"ids[]", b"glueSource", b"a b", b"a;b", b"a=b", b"x" * 60))
        value = draw_value(drawn, boundary)
        if b"--" + boundary in value and (b"\r\n--" + boundary in b"\r\n" + value):
            value = b"other"
        fields.append((name, value))
        more = drawn.choice((b"", b"", b'; filename="a.sh"', b"; filename=x"))
        head = drawn.choice((b"Content-Disposition", b"content-disposition", b"CONTENT-DISPOSITION"))
        lines = [head + b': form-data; name="' + name + b'"' + more]
        lines += drawn.choice(([], [], [b"Content-Type: text/plain"], [b"Content-Transfer-Encoding: 8bit"],
                               [b"X-Other: name=z; a"]))
        drawn.shuffle(lines)
        body += b"--" + boundary + drawn.choice((b"", b"", b" \t")) + b"\r\n" + b"\r\n".join(lines) + b"\r\n\r\n" \
            + value + b"\r\n"
    body += b"--" + boundary + b"--" + drawn.choice((b"", b"\r\n", b"\r\nsaid behind"))
    quoted = boundary if re.fullmatch(rb"[0-9A-Za-z'+_.-]+", boundary) and drawn.random() < 0.5 \
        else b'"' + boundary + b'"'
    return drawn.choice((b"multipart/form-data; boundary=", b"Multipart/Form-Data;charset=utf-8;Boundary=")) + quoted, \
        body, fields


def compare(reader, content_type, body):
    """True when both took it."""
    got, why = reader.multipart(content_type, body)
    boundary = re.escape(email.message_from_bytes(b"Content-Type: " + content_type).get_boundary().encode())
    if OTHER_BREAKS.search(body) or re.search(rb"\r\n[ \t]", body) or b"\\" in body or \
            re.search(rb"(^|\r\n)--" + boundary + rb"(?!(--)?[ \t]*(\r\n|$))", body) or \
            not all(GRAMMAR.fullmatch(line) for line in DISPOSITION.findall(body)):
        return False
    fields, excuse = python_multipart(content_type, body)
    if got is None:
        assert excuse, (content_type, body, why, fields)
        return False
    if excuse:
        return False
    assert got == fields, (content_type, body)
    return True


def test_bodies_are_read_as_they_were_meant(reader):
    drawn = random.Random(11)
    taken = 0
    for _ in range(1200):
        content_type, body, fields = draw_body(drawn)
        got, why = reader.multipart(content_type, body)
        assert got == fields, (content_type, body, why)
        taken += compare(reader, content_type, body)
    assert taken > 400


def test_bodies_with_faults_are_read_as_by_python(reader):
    drawn = random.Random(12)
    taken = 0
    for _ in range(2000):
        content_type, body, _ = draw_body(drawn)
        body = bytearray(body)
        for _ in range(drawn.randint(1, 3)):
            at = drawn.randrange(len(body))
            kind = drawn.randrange(5)
            if kind == 0:
                del body[at:at + drawn.choice((1, 1, 2, 30))]
            elif kind == 1:
                body[at:at] = drawn.choice((b"--", b"\r\n", b'"', b";", b"=", b":", b" ", b"\r\n\r\n", b"x"))
            elif kind == 2:
                body[at] = drawn.choice(b'"-;=: x')
            elif kind == 3:
                del body[at:]
            else:
                begin = drawn.randrange(len(body))
                body[at:at] = body[begin:begin + drawn.randrange(60)]
            if not body:
                break
        taken += compare(reader, content_type, bytes(body))
    assert taken > 100
