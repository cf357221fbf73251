# SPDX-License-Identifier: MIT
"""Processes and ports: what a process and its children used, as /proc has it."""

import dataclasses
import os
import random
import socket

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")


@dataclasses.dataclass(frozen=True)
class Usage:
    """CPU seconds so far (user and system) and resident bytes, summed over the processes that were followed."""

    cpu_s: float
    rss_bytes: int


def find_free_ports(count, host="127.0.0.1"):
    """The first of `count` consecutive free ports, below the range that outgoing connections take theirs from."""
    for _ in range(200):
        first = random.randint(15000, 32000 - count)
        sockets = []
        try:
            for port in range(first, first + count):
                sock = socket.socket()
                sockets.append(sock)
                sock.bind((host, port))
            return first
        except OSError:
            continue
        finally:
            for sock in sockets:
                sock.close()
    raise OSError(f"no {count} consecutive free ports on {host}")


def _read_stat(pid):
    """(name, parent, utime + stime in ticks, resident pages), or None if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name = text[text.index("(") + 1:text.rindex(")")]
    rest = text[text.rindex(")") + 2:].split()
    return name, int(rest[1]), int(rest[11]) + int(rest[12]), int(rest[21])


def process_name(pid):
    stat = _read_stat(pid)
    return stat[0] if stat else None


def family(pid, exclude=()):
    """pid and its descendants, without those whose name begins with one of `exclude`, and without theirs."""
    stats = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = _read_stat(entry)
            if stat:
                stats[int(entry)] = stat
    members = [pid] if pid in stats else []
    for member in members:  # grows while it is walked
        for child, (name, parent, _, _) in stats.items():
            # The kernel cuts names at 15 characters.
            if parent == member and not any(name.startswith(word[:15]) for word in exclude):
                members.append(child)
    return members


def usage(pid, exclude=()):
    """Usage of a process and its children; None if it is gone. What ended children used is not in it."""
    members = family(pid, exclude)
    if not members:
        return None
    stats = [stat for stat in map(_read_stat, members) if stat]
    return Usage(sum(stat[2] for stat in stats) / TICKS, sum(stat[3] for stat in stats) * PAGE)


def machine_busy_s():
    """CPU seconds that all cores were busy since the machine was started."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, *_ = (int(word) for word in file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / TICKS
