# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture extend`: an n-gram model with further words."""

from pathlib import Path

from hf_lecture_models.cli.ngram_tools import load_ngrams, save_and_report
from hf_lecture_models.models.ngram.saving_ngram import check_target
from hf_lecture_models.models.ngram.tools.word_lists import read_new_words


def run(name: str, words: str, output: Path, from_unk: bool, json: bool) -> None:
    """Write the model with the new words; those without a probability that it has already are left out.

    Raises:
        ValueError, OSError: as `load_ngrams`, `read_new_words`, `NGramForCausalLM.extend` and `save_ngrams`.
    """
    check_target(output)
    entries = read_new_words(words)
    model, tokenizer = load_ngrams(name)
    known = tokenizer.get_vocab()
    new = {word: value for word, value in entries.items() if value is not None or word not in known}
    if not new:
        raise ValueError(f"the model has all {len(entries)} words of {words!r} already")
    larger, its_tokenizer = model.extend(tokenizer, new, from_unk)
    facts = {"words_added": len(new), "words_that_were_there": len(entries) - len(new)}
    save_and_report(larger, its_tokenizer, output, json, **facts)
