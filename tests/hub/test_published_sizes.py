# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The code that a published model brings along, which its user must trust, does not grow unseen."""

from benchmarks.published_sizes import LIMITS, published_sizes


def test_published_code_stays_within_its_limits() -> None:
    sizes = list(published_sizes())
    assert {model_type for model_type, _, _ in sizes} == LIMITS.keys()
    for model_type, name, files in sizes:
        found, limit = (len(files), sum(files.values())), LIMITS[model_type]
        assert found[0] <= limit[0] and found[1] <= limit[1], (
            f"{name} is published with {found[0]} files and {found[1]} lines, more than {limit}: leave out what "
            "it never reaches (hub.flatten.TRAVELS_AS), or raise the limit in benchmarks/published_sizes.py"
        )


def test_guards_stay_at_home() -> None:
    for _, name, files in published_sizes():
        at_home = [file for file in files if file.startswith(("base_guards", "io_saved_json", "io_files", "io_system"))]
        assert not at_home, f"{name} is published with {at_home}"
