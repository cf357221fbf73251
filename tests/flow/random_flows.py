#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Random flows with random ends, gone through by src/flow (flow_runs) and by an evaluator that knows docs/flows.md alone:
the states of all steps and the outcomes must be equal.

    tests/flow/random_flows.py PROGRAM [FLOWS [SEED]]
"""
import json
import os
import random
import subprocess
import sys

ABSENT = object()


# ---- the evaluator ---------------------------------------------------------------------------------------------------

def value_at(path, flow, finals, ends):
    root, _, pointer = path.partition("/")
    names = root.split(".")
    if names[0] == "flow":
        value = {p["name"]: p["default"] for p in flow.get("parameters", ()) if "default" in p}.get(names[1], ABSENT)
    elif names[2] == "state":
        return {"S": "succeeded", "F": "failed", "K": "skipped"}[finals[names[1]]]
    elif finals[names[1]] == "K":
        return ABSENT
    else:
        text = ends[names[1]]["result"]
        if text is None:
            return ABSENT
        try:
            value = json.loads(text)
        except ValueError:
            value = text
    for part in pointer.split("/") if pointer else ():
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return ABSENT
    return value


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(a, b):
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if type(a) is not type(b) and not (is_number(a) and is_number(b)):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def holds(condition, flow, finals, ends):
    value, op, wanted = value_at(condition["path"], flow, finals, ends), condition["is"], condition["value"]
    if op == "exists":
        return (value is not ABSENT) == wanted
    if value is ABSENT:
        return False
    if op in ("=", "!="):
        return same(value, wanted) == (op == "=")
    if op == "contains":
        if isinstance(value, str):
            return isinstance(wanted, str) and wanted in value
        return isinstance(value, list) and any(same(item, wanted) for item in value)
    both_text = isinstance(value, str) and isinstance(wanted, str)
    if op == "startsWith":
        return both_text and value.startswith(wanted)
    if not both_text and not (is_number(value) and is_number(wanted)):
        return False
    return {"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}[op]


def is_true(edge, flow, finals, ends):
    """Of an edge all of whose steps have ended."""
    if finals[edge["from"]] not in {"success": "S", "failure": "F", "end": "SF"}[edge.get("on", "success")]:
        return False
    when = edge.get("when", {"all": []})
    held = [holds(condition, flow, finals, ends) for condition in when.get("all", when.get("any"))]
    return all(held) if "all" in when else any(held)


def evaluate(flow, ends):
    """(states of the steps in their order, outcome). Steps of `flow` stand in an order without edges backwards."""
    finals = {}
    edges = flow["edges"]
    for step in flow["steps"]:
        true = [is_true(edge, flow, finals, ends) for edge in edges if edge["to"] == step["name"]]
        starts = any(true) if true and step.get("join") == "any" else all(true)
        finals[step["name"]] = ("S" if ends[step["name"]]["good"] else "F") if starts else "K"
    handled = {edge["from"] for edge in edges if is_true(edge, flow, finals, ends)}
    bad = [name for name, state in finals.items() if state == "F" and name not in handled]
    return finals, "bad" if bad else "good"


# ---- drawing ---------------------------------------------------------------------------------------------------------

SCALARS = [0, 1, 2, -1, 1.0, 0.5, 10, "", "a", "ab", "b", "10", True, False, None]


def draw_value(rng, depth=2):
    if depth and rng.random() < 0.3:
        if rng.random() < 0.5:
            return [draw_value(rng, depth - 1) for _ in range(rng.randrange(3))]
        return {key: draw_value(rng, depth - 1) for key in rng.sample(["n", "x", "0"], rng.randrange(3))}
    return rng.choice(SCALARS)


def draw_result(rng):
    if rng.random() < 0.15:
        return None
    if rng.random() < 0.15:
        return rng.choice(["done", "", "{", "01", "nul"])
    if rng.random() < 0.6:
        return json.dumps({"n": draw_value(rng, 1), "x": draw_value(rng)})
    return json.dumps(draw_value(rng))


def draw_condition(rng, names):
    root = rng.choice(["flow.p", "flow.q"]) if rng.random() < 0.1 else f"steps.{rng.choice(names)}.result"
    path = root + rng.choice(["", "/n", "/n", "/x", "/x/0", "/x/n", "/0"])
    if rng.random() < 0.1:
        path = f"steps.{rng.choice(names)}.state"
    op = rng.choice(["=", "!=", "<", "<=", ">", ">=", "contains", "startsWith", "exists"])
    value = rng.random() < 0.5 if op == "exists" else draw_value(rng, 1)
    if path.endswith(".state") and op != "exists":
        value = rng.choice(["succeeded", "failed", "skipped"])
    return {"path": path, "is": op, "value": value}


def draw_flow(rng):
    count = rng.randrange(1, 13)
    names = [f"s{i}" for i in range(count)]
    before = {name: set() for name in names}
    flow = {"name": "random", "parameters": [{"name": "p", "type": "json", "default": draw_value(rng)},
                                             {"name": "q", "type": "json"}], "steps": [], "edges": []}
    for i, name in enumerate(names):
        step = {"name": name, "type": "job", "jobId": 1}
        if rng.random() < 0.4:
            step["join"] = rng.choice(["any", "all"])
        flow["steps"].append(step)
        for other in rng.sample(names[:i], min(i, rng.choice([0, 1, 1, 2, 2, 3]))):
            edge = {"from": other, "to": name}
            if rng.random() < 0.5:
                edge["on"] = rng.choice(["success", "failure", "end"])
            before[name] |= before[other] | {other}
            if rng.random() < 0.4:
                known = sorted(before[other] | {other})
                edge["when"] = {rng.choice(["all", "any"]): [draw_condition(rng, known)
                                                             for _ in range(rng.randrange(1, 4))]}
            flow["edges"].append(edge)
    ends = {name: {"good": rng.random() < 0.7, "result": draw_result(rng)} for name in names}
    return flow, ends, [rng.randrange(1000) for _ in range(count + 1)]


def shuffled(flow, rng):
    """The same with steps and edges in another order."""
    steps, edges = list(flow["steps"]), list(flow["edges"])
    rng.shuffle(steps)
    rng.shuffle(edges)
    return {**flow, "steps": steps, "edges": edges}


def main():
    program = sys.argv[1]
    flows = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(4), "big")
    rng = random.Random(seed)
    cases = []
    for _ in range(flows):
        flow, ends, order = draw_flow(rng)
        cases.append((flow, ends, {"flow": shuffled(flow, rng), "ends": ends, "order": order}))
    done = subprocess.run([program], input="".join(json.dumps(case[2]) + "\n" for case in cases), text=True,
                          stdout=subprocess.PIPE, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == flows, f"{len(lines)} answers to {flows} flows, seed {seed}"
    seen = {state: 0 for state in "SFK"}
    bad = 0
    for (flow, ends, given), line in zip(cases, lines):
        finals, outcome = evaluate(flow, ends)
        wanted = "".join(finals[step["name"]] for step in given["flow"]["steps"]) + " " + outcome
        for state in finals.values():
            seen[state] += 1
        if line != wanted:
            bad += 1
            if bad <= 3:
                print(f"is {line}, must be {wanted}: {json.dumps(given)}")
    print(f"{flows} flows, seed {seed}: steps succeeded {seen['S']}, failed {seen['F']}, skipped {seen['K']}; "
          f"{bad} flows differ")
    sys.exit(1 if bad or not all(seen.values()) else 0)


if __name__ == "__main__":
    main()
