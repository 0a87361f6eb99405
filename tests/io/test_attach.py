# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Methods of a class that are functions of a module, imported when one of them is first looked up."""

import sys

from hf_lecture_models.io.registration import attach

SOURCE = """
def read(cls, path):
    return cls, path

def write(self, path):
    return self, path
"""


def test_the_module_is_imported_when_a_method_is_looked_up(tmp_path, monkeypatch):
    (tmp_path / "some_conversion.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    class Model:
        pass

    class Own(Model):
        @classmethod
        def read(cls, path):
            return super().read(path)

        def write(self, path):
            return super().write(path)

    attach(Model, "some_conversion", ["read"], ["write"])
    assert "some_conversion" not in sys.modules
    model = Own()
    assert (Own.read("a"), model.write("b")) == ((Own, "a"), (model, "b"))
    assert (Model.read("a"), Model.write(model, "b")) == ((Model, "a"), (model, "b"))
    assert Model.write is sys.modules.pop("some_conversion").write
