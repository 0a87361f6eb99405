# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Record which tests run which lines, for `benchmarks.mutants reach`.

A copy of this file is the `sitecustomize` of each Python process of the tests, so that the processes which they start
are watched too; in pytest it is also a plugin. It needs only the standard library and two environment variables:

    MUTANTS_WATCH  JSON: by file, a list of [first line, last line, kind, mutant]. A mutant is reached when, by kind,
                   the line is run ("line"), its function is called ("head"), or any code of the file is run ("file")
    MUTANTS_STORE  JSON lines are appended to it: {"runs": MUTANT, "by": TEST}, and after each test {"test": ID, ...}

What a fixture of a wider scope runs is recorded under the fixture's name, and each test's line lists the fixtures that
it uses.
"""

import json
import os
import sys
import threading

_TEST = "MUTANTS_TEST"
_watched: dict = {}
_seen: set = set()
_known: dict = {}


def _install() -> None:
    with open(os.environ["MUTANTS_WATCH"], encoding="utf-8") as file:
        _watched.update(json.load(file))
    threading.settrace(_enter)
    sys.settrace(_enter)


def _write(entry: dict) -> None:
    descriptor = os.open(os.environ["MUTANTS_STORE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, (json.dumps(entry) + "\n").encode())
    os.close(descriptor)


def _run(mutant: str) -> None:
    key = (os.environ.get(_TEST, ""), mutant)
    if key not in _seen:
        _seen.add(key)
        _write({"runs": mutant, "by": key[0]})


def _of(code) -> list:
    """Return the watched lines of a function, by the id of its code object, which is slow to hash and is kept alive."""
    if id(code) not in _known:
        lines = {line for *_, line in code.co_lines() if line}
        whole = [one for one in _watched[code.co_filename] if code.co_name != "<module>" and _is_called(one, code)]
        within = [
            one for one in _watched[code.co_filename] if one[2] == "line" and lines & set(range(one[0], one[1] + 1))
        ]
        _known[id(code)] = (code, whole, within)
    return _known[id(code)]


def _is_called(one: list, code) -> bool:
    first, last, kind, _ = one
    return kind == "file" or (kind == "head" and first <= code.co_firstlineno <= last)


def _enter(frame, event, argument):
    if frame.f_code.co_filename not in _watched:
        return None
    _, whole, within = _of(frame.f_code)
    for one in whole:
        _run(one[3])
    if not within:
        return None

    def trace(frame, event, argument):
        for first, last, _, mutant in within:
            if first <= frame.f_lineno <= last:
                _run(mutant)
        return trace

    return trace


def _key(fixturedef) -> str:
    return f"fixture {fixturedef.baseid}::{fixturedef.argname}"


def pytest_configure(config) -> None:
    """Register the hooks; only pytest's own process imports pytest."""
    import pytest

    class Hooks:
        def pytest_runtest_protocol(self, item):
            os.environ[_TEST] = item.nodeid
            item._mutants = {"test": item.nodeid, "seconds": 0.0, "passed": False}

        @pytest.hookimpl(wrapper=True)
        def pytest_fixture_setup(self, fixturedef, request):
            before = os.environ.get(_TEST, "")
            if fixturedef.scope != "function":
                os.environ[_TEST] = _key(fixturedef)
            try:
                return (yield)
            finally:
                os.environ[_TEST] = before

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = yield
            item._mutants["seconds"] += call.duration
            if call.when == "call":
                item._mutants["passed"] = report.passed and not hasattr(report, "wasxfail")
            if call.when == "teardown":
                definitions = item._fixtureinfo.name2fixturedefs.values() if hasattr(item, "_fixtureinfo") else ()
                wider = {_key(one) for found in definitions for one in found if one.scope != "function"}
                _write({**item._mutants, "fixtures": sorted(wider)})
            return report

    config.pluginmanager.register(Hooks())


if "MUTANTS_WATCH" in os.environ:
    _install()
