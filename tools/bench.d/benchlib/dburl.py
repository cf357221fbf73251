# SPDX-License-Identifier: MIT
"""Database URLs, and what the tools need to know of a connection: the zone that DATETIME columns are in."""

import dataclasses
import datetime
import os
import urllib.parse
import zoneinfo

import pymysql


@dataclasses.dataclass(frozen=True)
class DatabaseUrl:
    host: str
    port: int
    database: str
    user: str
    password: str
    socket: str | None
    zone: datetime.tzinfo


def _parse_zone(text):
    if not text:
        return _local_zone()
    if text in ("Z", "UTC", "GMT"):
        return datetime.timezone.utc
    body = text[3:] if text[:3] in ("GMT", "UTC") else text
    if body[:1] in "+-":
        hours, _, minutes = body[1:].partition(":")
        if hours.isdigit() and (not minutes or minutes.isdigit()):
            offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
            return datetime.timezone(-offset if body[0] == "-" else offset)
    try:
        return zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"serverTimezone: '{text}' is no time zone") from error


def _local_zone():
    """The zone of this machine, with its rules where it has a name."""
    name = os.environ.get("TZ", "").lstrip(":")
    try:
        link = os.readlink("/etc/localtime")
        name = name or link[link.index("zoneinfo/") + len("zoneinfo/"):]
        return zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError):
        return datetime.datetime.now().astimezone().tzinfo


def parse(text, user=None, password=None):
    """Reads jdbc:mysql://..., mysql://... and mariadb forms; `user` and `password` win over those of the URL."""
    url = text[len("jdbc:"):] if text.startswith("jdbc:") else text
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("mysql", "mariadb"):
        raise ValueError(f"'{text}' is no database URL: it begins neither with mysql:// nor with jdbc:mysql://")
    query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
    database = parts.path.strip("/")
    if not database or "/" in database:
        raise ValueError(f"'{text}' names no database (mysql://host:port/DATABASE)")
    try:
        port = parts.port or 3306
    except ValueError as error:
        raise ValueError(f"'{text}': the port is no number") from error
    unquote = urllib.parse.unquote
    return DatabaseUrl(
        host=parts.hostname or "127.0.0.1", port=port, database=unquote(database),
        user=user or unquote(parts.username or "") or query.get("user") or "root",
        password=password if password is not None else unquote(parts.password or "") or query.get("password", ""),
        socket=query.get("socket"), zone=_parse_zone(query.get("serverTimezone") or query.get("connectionTimeZone")))


def connect(url):
    """A connection in autocommit; rows come as tuples. ConnectionError says where there is none."""
    where = {"unix_socket": url.socket} if url.socket else {"host": url.host, "port": url.port}
    try:
        return pymysql.connect(user=url.user, password=url.password, database=url.database, charset="utf8mb4",
                               autocommit=True, connect_timeout=10, **where)
    except pymysql.MySQLError as error:
        place = url.socket or f"{url.host}:{url.port}"
        raise ConnectionError(f"no connection to {url.database} at {place} as {url.user}: {error.args[-1]}") from error


def to_datetime(url, epoch_s):
    """How an instant stands in a DATETIME column."""
    return datetime.datetime.fromtimestamp(epoch_s, url.zone).replace(tzinfo=None).strftime("%Y-%m-%d %H:%M:%S")


def to_epoch(url, value):
    """The instant of a DATETIME value; in the hour that a zone repeats, its first passing. None stays None."""
    return None if value is None else int(value.replace(tzinfo=url.zone).timestamp())


def changes_offset(url, from_s, to_s):
    """True if a clock change makes local times between the two instants ambiguous."""
    return (datetime.datetime.fromtimestamp(from_s, url.zone).utcoffset()
            != datetime.datetime.fromtimestamp(to_s, url.zone).utcoffset())
