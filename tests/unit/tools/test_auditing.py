# SPDX-License-Identifier: MIT
"""Input of the audit (database URLs, files of arrivals), and the choice of what it shows."""

import datetime

import pytest

from benchlib import auditing, dburl, matching

HEADER = ",".join(auditing.COLUMNS) + "\n"


@pytest.mark.parametrize("text, host, port, database, user, password, socket", [
    ("mysql://u:p%40@h:3307/db?socket=/tmp/s&serverTimezone=UTC", "h", 3307, "db", "u", "p@", "/tmp/s"),
    ("jdbc:mysql://127.0.0.1:3306/xxl_job?useUnicode=true&serverTimezone=Asia/Shanghai&user=me&password=x",
     "127.0.0.1", 3306, "xxl_job", "me", "x", None),
    ("mariadb://localhost/xxl?serverTimezone=Z", "localhost", 3306, "xxl", "root", "", None),
])
def test_database_urls(text, host, port, database, user, password, socket):
    url = dburl.parse(text)
    assert (url.host, url.port, url.database, url.user, url.password, url.socket) == \
        (host, port, database, user, password, socket)


def test_user_and_password_beside_the_url_win():
    url = dburl.parse("jdbc:mysql://h/db?serverTimezone=UTC&user=a", "b", "")
    assert (url.user, url.password) == ("b", "")


@pytest.mark.parametrize("text, message", [
    ("postgres://h/db", "no database URL"), ("mysql://h:x/db", "port"), ("mysql://h", "names no database"),
    ("mysql://h/db?serverTimezone=Nowhere/Land", "'Nowhere/Land' is no time zone"),
])
def test_bad_urls_say_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        dburl.parse(text)


@pytest.mark.parametrize("zone, local", [
    ("Asia/Shanghai", "2023-11-15 06:14:00"), ("GMT%2B8", "2023-11-15 06:14:00"), ("UTC", "2023-11-14 22:14:00"),
    ("-05:30", "2023-11-14 16:44:00"),
])
def test_datetimes_are_local_to_the_zone_of_the_url(zone, local):
    url = dburl.parse(f"mysql://h/db?serverTimezone={zone}")
    assert dburl.to_datetime(url, 1_700_000_040) == local
    assert dburl.to_epoch(url, datetime.datetime.fromisoformat(local)) == 1_700_000_040
    assert dburl.to_epoch(url, None) is None


def test_clock_changes_are_seen():
    url = dburl.parse("mysql://h/db?serverTimezone=America/New_York")
    change = int(datetime.datetime(2025, 11, 2, 6, tzinfo=datetime.timezone.utc).timestamp())
    assert dburl.changes_offset(url, change - 1, change) and not dburl.changes_offset(url, change, change + 9999)


def test_reads_arrivals_and_leaves_out_a_torn_last_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(HEADER + '1700000000123456,5,1,1700000000000,2,3,20000,"a,""b"\n'
                    "1700000000123456,7,2,1700000000000,2,3,20000,h\n1700000000123456,6,1,17")
    assert auditing.read_arrivals(path, {1}) == [matching.Arrival(1700000000123456, 5, 1, 1700000000000, 2, 3, 20000)]


@pytest.mark.parametrize("text, message", [
    ("", "line 1 is not the header"), ("a,b\n", "line 1 is not the header"),
    (HEADER + "1,2\n1,2,3,4,5,6,7,h\n", "line 2 has not the 8 fields"),
    (HEADER + "1,2,3,4,5,6,7,h\nx,2,3,4,5,6,7,h\n1,2,3,4,5,6,7,h\n", "line 3 has not the 8 fields"),
])
def test_bad_arrivals_name_the_line(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        auditing.read_arrivals(path, {1})


def test_the_worst_are_shown_and_no_kind_is_crowded_out():
    offences = [matching.Offence("failed", 1, i, 0, []) for i in range(100)]
    offences += [matching.Offence("lost", 2, i, 0, []) for i in range(3)]
    shown = auditing.worst(offences, 20)
    assert len(shown) == 20 and [o.kind for o in shown] == ["lost"] * 3 + ["failed"] * 17
    assert auditing.worst([], 20) == []
