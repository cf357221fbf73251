# SPDX-License-Identifier: MIT
"""Charts as SVG files, written by hand: lateness over the seconds of a run, fires/s over shards and nodes."""

import collections
import html
import json
import math
import pathlib
import re

from benchlib import scaletable, table

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 52, 50
COLOURS = ["#2f7ed8", "#d9822b", "#3a9d5d", "#a259c4", "#c23b4b", "#7a7a7a"]
# Text and lines of a middle grey are readable on white as on black; where the viewer tells, they follow it.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #767676; }
.title { font-size: 15px; font-weight: 600; }
.axis { stroke: #8a8a8a; } .grid { stroke: #8a8a8a; stroke-opacity: 0.25; }
@media (prefers-color-scheme: dark) { text { fill: #c8c8c8; } }
@media (prefers-color-scheme: light) { text { fill: #444; } }
"""


def ticks(top, wanted=6):
    """Round numbers from 0 to at least `top`."""
    if top <= 0:
        return [0, 1]
    rough = top / wanted
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    return [index * step for index in range(math.ceil(top / step) + 1)]


def label_of(value):
    return f"{value:,.0f}" if value == int(value) else f"{value:,.10g}"


def chart(title, x_title, y_title, series, x_labels):
    """series: {name: [(x, y)]}; x_labels: [(x, text)], the first and the last one are the ends of the axis."""
    low, high = x_labels[0][0], x_labels[-1][0]
    marks = ticks(max((y for points in series.values() for _, y in points), default=0))

    def at_x(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * ((x - low) / (high - low) if high > low else 0.5)

    def at_y(y):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / marks[-1]

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
             f'height="{HEIGHT}" role="img" aria-label="{html.escape(title, quote=True)}">', f"<style>{STYLE}</style>",
             f'<text class="title" x="{LEFT}" y="20">{html.escape(title)}</text>']
    for value in marks:
        y = at_y(value)
        parts.append(f'<line class="{"grid" if value else "axis"}" x1="{LEFT}" x2="{WIDTH - RIGHT}" '
                     f'y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label_of(value)}</text>')
    for x, text in x_labels:
        parts.append(f'<text x="{at_x(x):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">'
                     f'{html.escape(text)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(x_title)}</text>')
    parts.append(f'<text x="16" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
                 f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})">{html.escape(y_title)}</text>')
    legend = LEFT
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        if len(points) <= 40:
            parts.extend(f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in points)
        parts.append(f'<rect x="{legend}" y="32" width="14" height="4" fill="{colour}"/>')
        parts.append(f'<text x="{legend + 20}" y="39">{html.escape(name)}</text>')
        legend += 40 + 8 * len(name)
    return "\n".join([*parts, "</svg>", ""])


def lateness(result):
    """Of one run with figures by second."""
    seconds = result["seconds"]
    last = max(second for second, *_ in seconds) + 1
    step = next(step for step in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600, 86400) if last / step <= 12)
    labels = [(x, str(x)) for x in range(0, last + step, step)]
    return chart(f"Lateness, {table.title(result)}", "second of the run", "ms after the due second",
                 {"p50": [(row[0], row[2]) for row in seconds], "p99": [(row[0], row[3]) for row in seconds]}, labels)


def scale(results, title, y_title, value_of):
    """Over shards, a line for each number of nodes; `value_of` takes a cell of scaletable."""
    grouped = collections.defaultdict(list)
    for result in results:
        grouped[result["shards"], result["nodes"]].append(result)
    shards = sorted({k for k, _ in grouped})
    series = {}
    for nodes in sorted({n for _, n in grouped}):
        points = [(shards.index(k), value_of(scaletable.Cell(grouped[k, nodes])))
                  for k in shards if (k, nodes) in grouped]
        series[f"{nodes} node{'s' if nodes > 1 else ''}"] = [point for point in points if point[1] is not None]
    return chart(title, "shards", y_title, series, [(index, str(k)) for index, k in enumerate(shards)])


def file_name(result):
    words = [result.get("label"), result["scenario"], result.get("rate") or result["jobs"],
             "run", result["run"]] if result.get("run", 1) > 1 else [result.get("label"), result["scenario"],
                                                                      result.get("rate") or result["jobs"]]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(str(word) for word in words if word).lower()).strip("-")


def draw(paths, folder):
    """Writes what can be drawn of these files into the folder: the paths written."""
    charts, of_scale = {}, []
    for path in paths:
        drawn = len(charts) + len(of_scale)
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if line.strip()]
        for number, line in enumerate(lines, 1):
            try:
                result = json.loads(line)
                if result["scenario"] in scaletable.KINDS:
                    of_scale.append(result)
                elif result.get("seconds"):
                    charts[f"lateness-{file_name(result)}.svg"] = lateness(result)
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}: line {number} is no result of a run") from error
        if len(charts) + len(of_scale) == drawn:
            raise ValueError(f"{path}: holds nothing that can be drawn")
    if of_scale:
        charts["scale-sustained.svg"] = scale(of_scale, "Fires/s that are sustained", "fires/s", lambda cell: cell.best)
        charts["scale-planned.svg"] = scale(of_scale, "Fires planned per second", "planned fires/s",
                                            lambda cell: scaletable.median(cell.planning, "planned_per_s"))
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, text in charts.items():
        (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
    return [str(pathlib.Path(folder) / name) for name in charts]
