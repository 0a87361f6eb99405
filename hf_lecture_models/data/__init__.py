# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The rows of a run: the data fields of recipes, readers of every format, benchmarks, checksums."""

from hf_lecture_models.data.conll import ConllTable
from hf_lecture_models.data.files import READERS
from hf_lecture_models.data.squad import read_squad_json

READERS[".conllu"] = READERS[".conll"] = ConllTable
READERS[".json"] = lambda path, name, _: read_squad_json(path, name)
