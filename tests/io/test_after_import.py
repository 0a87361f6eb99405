# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Completing a module of another package right after it is imported."""

import importlib
import sys

from hf_lecture_models.io.optional_packages import after_import


def test_a_module_is_completed_once_it_is_imported_and_not_before(tmp_path, monkeypatch):
    (tmp_path / "some_optional_package.py").write_text("names = ['own']\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    for name in ("first", "second"):
        after_import("some_optional_package", lambda module, name=name: module.names.append(name))
    assert "some_optional_package" not in sys.modules
    module = importlib.import_module("some_optional_package")
    monkeypatch.delitem(sys.modules, "some_optional_package", raising=False)
    assert sorted(module.names) == ["first", "own", "second"]
    assert sys.meta_path == finders
    monkeypatch.setitem(sys.modules, "some_optional_package", module)
    after_import("some_optional_package", lambda module: module.names.append("third"))
    assert module.names[-1] == "third"


def test_a_package_that_is_absent_stays_absent(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    after_import("no_such_package_anywhere", lambda module: None)
    assert importlib.util.find_spec("no_such_package_anywhere") is None
