# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Words as one-hot codes or as word2vec's vectors, on the three-way Stanford Sentiment Treebank (slides R:678-690).

    OMP_NUM_THREADS=1 python -m benchmarks.word_vector_inputs VECTORS [--output FOLDER]

VECTORS is the folder that `training/recipes/word2vec_wikitext2.yaml` leaves behind. Two readers, each trained with
three seeds and three inputs:

    one-hot             the first matrix learns a vector for each word, from random numbers
    vectors             it starts with word2vec's, for the words that these have, and goes on learning
    vectors, fixed      it stays what it started with; so do the random vectors of all other words

A run that was cut off goes on after the last model that it finished.
"""

from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from benchmarks.common import add_output, check_trained_on_committed_code, new_parser, read_options, write_results
from benchmarks.sentence_classifiers import SEEDS, compare, run, summary
from hf_lecture_models.tasks.word_vectors.initial import start_from_word_vectors

READERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bag of words, one hidden layer": ("bag_of_words_sst3", {"model.hidden_sizes": [100]}),
    "LSTM, last state": ("recurrent_sst3", {"model.hidden_size": 100}),
}
ONE_HOT, VECTORS, FIXED = INPUTS = ("one-hot", "vectors", "vectors, fixed")


def prepare(model: Any, tokenizer: Any, inputs: str, vectors: str) -> None:
    """Give a new model its first matrix."""
    if inputs != ONE_HOT:
        start_from_word_vectors(model, tokenizer, vectors)
    model.get_input_embeddings().weight.requires_grad_(inputs != FIXED)


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("vectors", metavar="VECTORS", help="folder of a trained Word2VecForPreTraining")
    add_output(parser, "word_vector_inputs", "the models")
    options = read_options(parser)
    if not options.dirty:
        check_trained_on_committed_code(Path(options.vectors))
    disable_progress_bar()
    results: dict[str, Any] = {}
    for reader, (recipe, changes) in READERS.items():
        rows = {}
        for inputs in INPUTS:
            runs = [
                run(
                    recipe,
                    changes,
                    seed,
                    options.output / f"{recipe}_{inputs.replace(', ', '_')}_{seed}",
                    lambda model, tokenizer, inputs=inputs: prepare(model, tokenizer, inputs, options.vectors),
                )
                for seed in SEEDS
            ]
            rows[inputs] = summary(runs)
            mean, error = (100 * rows[inputs][name] for name in ("mean", "standard_error"))
            print(f"{reader}, {inputs}: {mean:.1f} ± {error:.1f} %", flush=True)
        differences = {inputs: compare(rows[inputs], rows[ONE_HOT]) for inputs in (VECTORS, FIXED)}
        for row in rows.values():
            del row["right"]
        results[reader] = {"rows": rows, "over one-hot": differences}
    write_results("word_vector_inputs", results, options.kept)


if __name__ == "__main__":
    main()
