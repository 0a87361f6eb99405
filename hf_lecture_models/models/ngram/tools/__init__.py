# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Tools for finished n-gram models: pruning, mixing, cutting to a vocabulary, adding words.

All start from `contexts.py`, the contexts of a model for whole tables at a time, and from `model_checks.py`, which
models can be changed. Then, for each tool:

- pruning: `pruning.py`, `pruning_criteria.py` (the equations), `pruning_checks.py`, `pruning_counts.py`
- mixing: `mixture_weights.py`, `united_words.py`, `static_mixture.py`; `../interpolation_ngram.py` has the method
- cutting and adding words: `vocabulary.py`, `word_lists.py`
- files for other programs: `suffixes.py`
"""
