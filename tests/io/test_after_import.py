# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Completing a module of another package right after it is imported."""

import importlib
import importlib.util
import sys

import pytest

from hf_lecture_models.io import optional_packages
from hf_lecture_models.io.optional_packages import _Finder, after_import


@pytest.fixture
def finder(monkeypatch):
    """A finder for which nothing waits yet, in place of the package's."""
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if not isinstance(one, _Finder)])
    monkeypatch.setattr(optional_packages, "_FINDER", _Finder())
    return optional_packages._FINDER


def test_a_module_is_completed_once_it_is_imported_and_not_before(tmp_path, monkeypatch, finder):
    for name in ("some_optional_package", "another_optional_package"):
        (tmp_path / f"{name}.py").write_text("names = ['own']\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    for name in ("first", "second"):
        after_import("some_optional_package", lambda module, name=name: module.names.append(name))
    after_import("another_optional_package", lambda module: module.names.append("third"))
    assert sys.meta_path == [finder, *finders]  # one for all
    assert importlib.util.find_spec("some_optional_package") is not None  # asking for a module loads nothing
    assert "some_optional_package" not in sys.modules
    modules = []
    for name, left in (("some_optional_package", [finder, *finders]), ("another_optional_package", finders)):
        modules.append(importlib.import_module(name))
        monkeypatch.delitem(sys.modules, name)
        assert sys.meta_path == left
    assert [module.names for module in modules] == [["own", "first", "second"], ["own", "third"]]
    monkeypatch.setitem(sys.modules, "some_optional_package", modules[0])
    after_import("some_optional_package", lambda module: module.names.append("fourth"))
    assert modules[0].names[-1] == "fourth"
    assert sys.meta_path == finders


def test_a_package_that_is_absent_stays_absent(finder):
    after_import("no_such_package_anywhere", lambda module: None)
    assert importlib.util.find_spec("no_such_package_anywhere") is None
