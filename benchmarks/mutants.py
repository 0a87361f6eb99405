# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Mutants: small mistakes put into a copy of the code one at a time, to see whether a test fails.

    python -m benchmarks.mutants draw                     # writes mutants.jsonl, the same again for the same code
    python -m benchmarks.mutants reach STORE [PIECE ...]  # finds the tests that run each mutated line, folder by folder
    python -m benchmarks.mutants run STORE RECORD         # runs these tests with one mutant at a time in a copy
    python -m benchmarks.mutants score RECORD [RECORD]    # killed and alive; of two records also the differences

`reach` and `run` continue where they were stopped. Both work on a clone of the last commit, in a temporary folder. A
mutant is found by its function's name and its statement, so that it can be tried again after files have moved.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, commit_of, new_parser
from benchmarks.mutation import Mutant, find, mistakes, mutated, places, sources
from hf_lecture_models.io.files import write_file

LIST = Path(__file__).with_suffix(".jsonl")
SEED, NUMBER, SECONDS = 27, 150, 90


def folder_of(file: str) -> str:
    """Return the folder that a file is counted in: a subfolder of the package, a model's folder, or `training`."""
    parts = file.split("/")[:-1]
    return "/".join(parts[: 3 if parts[1:2] == ["models"] else 2]) or file


def draw(root: Path, number: int = NUMBER, seed: int = SEED) -> list[Mutant]:
    """Draw mutants from each folder in proportion to its lines, at least one; at most one of a statement."""
    chosen, folders = random.Random(seed), defaultdict(list)
    for path in sources(root):
        folders[folder_of(str(path.relative_to(root)))].append(path)
    lines = {
        name: sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own) for name, own in folders.items()
    }
    drawn: list[Mutant] = []
    for name, own in sorted(folders.items()):
        found, seen = [], Counter()
        for place in (place for path in own for place in places(path)):
            key = (place.path, place.function, place.old)
            if options := mistakes(place.old):
                found.append((place, seen[key], options))
            seen[key] += 1
        wanted = max(1, round(number * lines[name] / sum(lines.values())))
        for place, occurrence, options in chosen.sample(found, min(len(found), wanted)):
            file, new = str(place.path.relative_to(root)), chosen.choice(options)
            drawn.append(Mutant(f"m{len(drawn) + 1:03}", file, place.function, place.old, new, occurrence))
    return drawn


def read_list() -> list[Mutant]:
    """Return the mutants of the list: first those written by hand, then those that were drawn."""
    return [Mutant(**json.loads(line)) for line in LIST.read_text(encoding="utf-8").splitlines()]


@contextmanager
def clone() -> Iterator[Path]:
    """A clone of the last commit, in which Python checks compiled files by content and not by their time."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root = Path(folder, "code", "checkout")
        subprocess.run(["git", "clone", "-q", "--shared", ROOT, root], check=True)
        subprocess.run(
            [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", root], check=True
        )
        yield root


def _environment(root: Path, **more: str) -> dict[str, str]:
    data = os.environ.get("HF_LECTURE_DATA") or str(ROOT.parent / "shared" / "data")
    return {**os.environ, "PYTHONPATH": str(root), "HF_LECTURE_DATA": data, "OMP_NUM_THREADS": "1", **more}


def watch(mutants: list[Mutant], root: Path) -> dict[str, list[Any]]:
    """Return the lines that `mutant_reach` watches, by file; mutants that are not found are left out."""
    watched: dict[str, list[Any]] = defaultdict(list)
    for mutant in mutants:
        if place := find(mutant, root):
            watched[str(place.path)].append([*place.watched(), mutant.name])
    return watched


def pieces(root: Path) -> list[str]:
    """Return the parts of the tests that run in one process each: folders of tests and of the package, and files."""
    folders = [*(root / "tests").iterdir(), *(root / "tests/models").iterdir(), root / "hf_lecture_models"]
    chosen = [path for path in folders if path.name != "models" and (path.is_dir() or path.name.startswith("test_"))]
    return sorted(str(path.relative_to(root)) for path in chosen if not path.name.startswith("_"))


def reach(store: Path, wanted: list[str], selected: str) -> None:
    """Run the tests, and add to the store which of them run which mutated lines; pieces in the store are skipped."""
    done = {entry["piece"] for entry in _entries(store) if "piece" in entry}
    with clone() as root, tempfile.TemporaryDirectory() as folder:
        shutil.copy(Path(__file__).with_name("mutant_reach.py"), Path(folder, "sitecustomize.py"))
        Path(folder, "watch.json").write_text(json.dumps(watch(read_list(), root)), encoding="utf-8")
        for piece in wanted or pieces(root):
            if piece in done:
                continue
            began, part = time.monotonic(), Path(folder, "part.jsonl")
            part.unlink(missing_ok=True)
            places_of = {"MUTANTS_WATCH": str(Path(folder, "watch.json")), "MUTANTS_STORE": str(part)}
            environment = _environment(root, **places_of, PYTHONPATH=f"{folder}{os.pathsep}{root}")
            options = ["-q", "-n", "0", "-p", "sitecustomize", "-p", "no:cacheprovider", "-m", selected]
            command = [sys.executable, "-m", "pytest", *options]
            status = subprocess.run([*command, piece], cwd=root, env=environment, stdout=subprocess.DEVNULL).returncode
            entries = _entries(part)
            seconds = round(time.monotonic() - began, 1)
            ended = {"piece": piece, "commit": commit_of(ROOT), "status": status, "seconds": seconds}
            with store.open("a", encoding="utf-8") as file:  # a piece is stored as a whole
                file.writelines(json.dumps(entry) + "\n" for entry in [*entries, ended])
            print(
                f"{piece}: {sum('test' in entry for entry in entries)} tests, {seconds:.0f} s, status {status}",
                flush=True,
            )


def _entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def tests_of(entries: list[dict[str, Any]]) -> dict[str, list[tuple[float, str]]]:
    """Return the seconds and names of the tests to try for each mutant; all of them pass without it.

    The tests that run its line come first, the fastest first; then the others of their files, because a test may leave
    its results to another one.
    """
    runs = defaultdict(set)
    for entry in entries:
        if "runs" in entry:
            runs[entry["runs"]].add(entry["by"])
    tests = [entry for entry in entries if "test" in entry and entry["passed"]]
    found = {}
    for mutant, by in runs.items():
        own = {entry["test"] for entry in tests if not by.isdisjoint((entry["test"], *entry["fixtures"]))}
        files = {name.partition("::")[0] for name in own}
        tried = [entry for entry in tests if entry["test"].partition("::")[0] in files]
        order = sorted(tried, key=lambda entry: (entry["test"] not in own, entry["seconds"]))
        found[mutant] = [(entry["seconds"], entry["test"]) for entry in order]
    return found


def try_out(mutant: Mutant, tests: list[tuple[float, str]], root: Path, limit: float) -> dict[str, Any]:
    """Run the tests with the mistake in the copy until one fails, or for `limit` seconds."""
    place = find(mutant, root)
    if place is None:
        return {"result": "lost"}
    chosen, total = [], 0.0
    for seconds, name in tests:
        if total + seconds <= limit:
            chosen.append(name)
            total += seconds
    if not chosen:
        return {"result": "alive" if tests else "not run", "tests": 0, "left_out": len(tests)}
    before, listed, began = place.path.read_bytes(), root.parent / "tests.txt", time.monotonic()
    listed.write_text("\n".join(chosen), encoding="utf-8")
    place.path.write_text(mutated(mutant, place), encoding="utf-8")
    options = ["-qx", "-n", "0", "-p", "no:cacheprovider", "-m", "slow or not slow"]
    command = [sys.executable, "-m", "pytest", *options, f"@{listed}"]
    try:
        process = subprocess.Popen(
            command, cwd=root, env=_environment(root), text=True, encoding="utf-8", start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = process.communicate(timeout=60 + 4 * limit)
            result = {0: "alive", 1: "killed", 2: "killed", 3: "killed"}.get(process.returncode)
        except subprocess.TimeoutExpired:
            result, said = "hangs", ""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    finally:
        place.path.write_bytes(before)
    if result is None:
        raise RuntimeError(f"{mutant.name}: pytest ended with {process.returncode}\n{said[-2000:]}")
    by = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    figures = {
        "tests": len(chosen),
        "left_out": len(tests) - len(chosen),
        "seconds": round(time.monotonic() - began, 1),
    }
    return {"result": result, **({"by": by[1] if by else "the imports"} if result == "killed" else {}), **figures}


def run(store: Path, record: Path, limit: float, only: list[str]) -> None:
    """Try each mutant that the record lacks, and write the record after each."""
    tests, known = tests_of(_entries(store)), json.loads(record.read_text("utf-8")) if record.exists() else {}
    with clone() as root:
        for mutant in read_list():
            if mutant.name in known or (only and mutant.name not in only):
                continue
            tried = try_out(mutant, tests.get(mutant.name, []), root, limit)
            known[mutant.name] = {**asdict(mutant), **tried, "limit": limit, "commit": commit_of(ROOT)}
            write_file(record, json.dumps(known, indent=1) + "\n")
            print(mutant.name, tried["result"], tried.get("by", ""), flush=True)
    score([record])


def score(records: list[Path]) -> None:
    """Print how many of the mutants found are killed, and those that are alive; of a second record the differences."""
    before = None
    for record in records:
        known = json.loads(record.read_text(encoding="utf-8"))
        counts = Counter(one["result"] for one in known.values())
        tried = sum(counts.values()) - counts["lost"]
        print(f"{record}: {counts['killed']} of {tried} killed, {dict(counts)}")
        for name, one in known.items():
            if before and before.get(name, one)["result"] != one["result"]:
                print(f"  {name}: {before[name]['result']} -> {one['result']}")
            elif not before and one["result"] != "killed":
                print(f"  {name} {one['result']}: {one['file']}, {one['function']}: {one['old']}  ->  {one['new']}")
        before = known


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("action", choices=["draw", "reach", "run", "score"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--select", default="not nightly", help="marks of the tests that reach runs")
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds of tests for each mutant")
    parser.add_argument("--only", nargs="*", default=[], help="names of mutants")
    given = parser.parse_args()
    if given.action == "draw":
        by_hand = [mutant for mutant in read_list() if not re.fullmatch(r"m\d+", mutant.name)]
        lines = [json.dumps(asdict(mutant), ensure_ascii=False) + "\n" for mutant in [*by_hand, *draw(ROOT)]]
        LIST.write_text("".join(lines), encoding="utf-8")
    elif given.action == "reach":
        reach(given.files[0], list(map(str, given.files[1:])), given.select)
    elif given.action == "run":
        run(*given.files, given.limit, given.only)
    else:
        score(given.files)


if __name__ == "__main__":
    main()
