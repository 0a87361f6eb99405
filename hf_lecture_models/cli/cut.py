# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture cut`: an n-gram model of the words of a vocabulary alone."""

from pathlib import Path

from hf_lecture_models.cli.ngram_tools import load_ngrams, save_and_report
from hf_lecture_models.models.ngram.saving_ngram import check_target
from hf_lecture_models.models.ngram.tools.word_lists import read_vocabulary


def run(name: str, vocabulary: Path, output: Path, json: bool) -> None:
    """Write the model without the words that the vocabulary lacks; they are unknown words then.

    Raises:
        ValueError, OSError: as `load_ngrams`, `read_vocabulary`, `NGramForCausalLM.cut` and `save_ngrams`.
    """
    check_target(output)
    words = read_vocabulary(vocabulary)
    model, tokenizer = load_ngrams(name)
    smaller, its_tokenizer = model.cut(tokenizer, words)
    unknown = its_tokenizer.unk_token_id
    before, after = (10.0 ** float(one.tables().log10_probs[0][unknown]) for one in (model, smaller))
    kept, special = its_tokenizer.get_vocab(), len(its_tokenizer.all_special_tokens)
    save_and_report(
        smaller,
        its_tokenizer,
        output,
        json,
        words_before=len(tokenizer) - special,
        words_kept=len(kept) - special,
        words_that_the_model_lacks=sum(word not in kept for word in words),
        unknown_word_before=f"{before:.4g}" if not json else before,
        unknown_word_now=f"{after:.4g}" if not json else after,
    )
