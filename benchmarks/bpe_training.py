# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Training byte-pair encoding on WikiText-2 beside `tokenizers`' own trainer, and encoding the text by it.

    OMP_NUM_THREADS=1 python -m benchmarks.bpe_training [--vocab-size 8000] [--repeats 3]

Both trainers get the same texts and the same split, and learn as many tokens, from texts in memory to a tokenizer that
encodes. Both encoders give the same ids: `encode_corpus` goes over distinct words, the Rust library over all. CPU
seconds of all threads, the least of the repeats, in turns. The trainers break ties differently, so that their merges
differ; the number of tokens that each needs for the validation text is counted too.
"""

import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, WhitespaceSplit
from tokenizers.trainers import BpeTrainer

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from hf_lecture_models.tokenization.bpe import BpeTokenizer
from hf_lecture_models.tokenization.corpus import encode_corpus

SPECIAL = ["<s>", "</s>", "<pad>"]
PLAIN = {"add_special_tokens": False, "split_special_tokens": True, "return_attention_mask": False, "verbose": False}


def train_theirs(texts: list[str], form: str, vocab_size: int) -> Tokenizer:
    if form == "words":
        backend = Tokenizer(BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
        backend.pre_tokenizer = WhitespaceSplit()
        start = {"special_tokens": ["<unk>", *SPECIAL], "end_of_word_suffix": "</w>"}
    else:
        backend = Tokenizer(BPE())
        backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
        start = {"special_tokens": SPECIAL, "initial_alphabet": ByteLevel.alphabet()}
    backend.train_from_iterator(texts, BpeTrainer(vocab_size=vocab_size, show_progress=False, **start))
    return backend


def measure(texts: list[str], held_out: list[str], form: str, vocab_size: int, repeats: int) -> dict:
    ours, theirs, corpus, rust = [], [], [], []
    for _ in range(repeats):  # in turns: the machine's mood hits both
        ours.append(timed(lambda: BpeTokenizer.train(texts, vocab_size=vocab_size, form=form, progress=False)))
        theirs.append(timed(lambda: train_theirs(texts, form, vocab_size)))
        tokenizer, backend = ours[-1][0], theirs[-1][0]
        corpus.append(timed(lambda: encode_corpus(tokenizer, texts)))  # noqa: B023
        rust.append(timed(lambda: tokenizer(texts, **PLAIN)["input_ids"]))  # noqa: B023
    encoded, rows = corpus[-1][0], rust[-1][0]
    assert encoded.ids.tolist() == [id_ for row in rows for id_ in row]
    backend.encode_special_tokens = True
    cpu = {
        "train_cpu_s": min(run[1] for run in ours),
        "tokenizers_train_cpu_s": min(run[1] for run in theirs),
        "encode_corpus_cpu_s": min(run[1] for run in corpus),
        "tokenizers_encode_cpu_s": min(run[1] for run in rust),
    }
    return cpu | {
        "train_speed_ratio": cpu["tokenizers_train_cpu_s"] / cpu["train_cpu_s"],
        "encode_speed_ratio": cpu["tokenizers_encode_cpu_s"] / cpu["encode_corpus_cpu_s"],
        "tokens": len(tokenizer),
        "merges": len(tokenizer.merges),
        "held_out_tokens": len(encode_corpus(tokenizer, held_out).ids),
        "tokenizers_held_out_tokens": sum(len(backend.encode(text).ids) for text in held_out),
        "held_out_words": sum(len(text.split()) for text in held_out),
    }


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--repeats", type=int, default=3)
    options = read_options(parser)
    texts, held_out = wikitext("train"), wikitext("valid")
    results = {}
    for form in ("words", "bytes"):
        found = results[form] = measure(texts, held_out, form, options.vocab_size, options.repeats)
        print(
            f"{form}: training {found['train_cpu_s']:.2f} CPU s, tokenizers {found['tokenizers_train_cpu_s']:.2f} "
            f"({found['train_speed_ratio']:.2f}x); encoding {found['encode_corpus_cpu_s']:.2f}, tokenizers "
            f"{found['tokenizers_encode_cpu_s']:.2f} ({found['encode_speed_ratio']:.2f}x); held-out tokens "
            f"{found['held_out_tokens']}, tokenizers {found['tokenizers_held_out_tokens']}"
        )
    write_results("bpe_training", {"vocab_size": options.vocab_size, "texts": len(texts)} | results)


if __name__ == "__main__":
    main()
