"""Figures of runs from their JSON lines alone, to hold a report against: recompute.py DIR"""
import json
import pathlib
import sys


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def rate(samples, outcomes, top):
    first = [outcomes.get(sample["index"]) for sample in samples[:top]]
    compilable = sum(outcome in ("failed", "plausible") for outcome in first)
    return {
        "of": len(first),
        "compilable": compilable,
        "plausible": first.count("plausible"),
        "unjudged": first.count(None),
    }


units = {}
for path in sorted(pathlib.Path(sys.argv[1]).rglob("patches.jsonl")):
    samples, verdicts = lines(path), lines(path.with_name("verdicts.jsonl"))
    outcomes = {line["index"]: line["outcome"] for line in verdicts}
    stages = [stage for line in verdicts if not line.get("repeated") for stage in line["stages"]]
    compiling = [stage["millis"] for stage in stages if stage["stage"] == "compile"]
    clock = lines(path.with_name("clock.jsonl"))[-1]
    units[str(path.parent.parent)] = {
        "unique": rate(samples, outcomes, None),
        "top": {str(top): rate(samples, outcomes, top) for top in (30, 100, 1000, 5000)},
        "first_plausible": min((index for index, said in outcomes.items() if said == "plausible"), default=None),
        "tokens": sum(len(sample["tokens"]) for sample in samples),
        "positions": clock["positions"],
        "questions": clock["questions"],
        "compile_ms": sum(compiling),
        "test_ms": sum(stage["millis"] for stage in stages) - sum(compiling),
    }
print(json.dumps(units))
