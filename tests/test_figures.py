# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every figure of README, docs and model pages is that of its record.

Records are `benchmarks/results/NAME.json` and the facts of trained recipes, `hub_cards/facts/NAME.json` (the cards
themselves are rendered from their facts: tests/hub/test_card.py). For each document a function below yields the
passages that hold measured figures, with the figures filled in from the records; each passage must stand in the
document, word for word. What is left of the document is searched for figures (decimals, percentages, thousands,
seconds, minutes, times): none may be left but those in OTHERS, which are no measurements, each with the reason.

After a benchmark was run again, a failing test prints the passage as it must read now.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import (
    babylm,
    blimp,
    canaries,
    crows_pairs,
    fine_tuning,
    loss_by_distance,
    perplexity_filter,
    prompting,
    reading_times,
    sentence_classifiers,
    translation,
    units,
    wikitext2_table,
    word2vec,
)
from hf_lecture_models import (
    LayerPerInputConfig,
    LayerPerInputForSequenceClassification,
    PaddedMlpConfig,
    PaddedMlpForSequenceClassification,
)
from hf_lecture_models.hub.energy import Energy, estimate_energy
from hf_lecture_models.lab.claims.claim import find_claim
from hf_lecture_models.tokenization.corpus import read_texts

ROOT = Path(__file__).resolve().parents[1]


@cache
def record(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["results"]


@cache
def facts(name: str) -> Any:
    return json.loads((ROOT / "hub_cards" / "facts" / f"{name}.json").read_text(encoding="utf-8"))


def ppl(name: str, part: str = "test") -> str:
    """Word perplexity of a network trained on WikiText-2."""
    return f"{record(f'{name}_wikitext2')[part]['word_perplexity']:.1f}"


def bits(name: str) -> str:
    return f"{record(f'{name}_wikitext2')['test']['bits_per_byte']:.4f}"


def minutes(name: str) -> str:
    """CPU minutes of its optimizer steps."""
    return f"{record(f'{name}_wikitext2')['training']['step_cpu_seconds'] / 60:.0f}"


def epochs(name: str) -> str:
    return f"{record(f'{name}_wikitext2')['validation_curve'][-1]['epoch']:.1f}".removesuffix(".0")


def ngram(order: int, smoothing: str, part: str = "test_word_perplexity", alpha: float | None = None) -> str:
    rows = record("ngram_wikitext2")["rows"]
    key = (order, smoothing, alpha)
    (row,) = (row for row in rows if (row["order"], row["smoothing"], row.get("alpha")) == key)
    return f"{row[part]:.1f}"


def accuracy(recipe: str) -> str:
    return f"{100 * facts(recipe)['results']['accuracy']:.1f} %"


def pairs(model: str) -> list[tuple[str, str]]:
    """ln P of the preferred sentence and of the other, of every pair that this model ranked."""
    rows = [row for row in record("sentence_pairs")["pairs"] if row["model"] == model]
    assert rows, model
    return [(f"{row['log_prob_better']:.1f}", f"{row['log_prob_worse']:.1f}") for row in rows]


def large(model: str, precision: str) -> Any:
    return record("large_vocabulary")[f"throughput, {model}"][precision]


def against_torch(kind: str, precision: str) -> float:
    """Speed of the LSTM with this output layer, as a multiple of torch's with a full softmax."""
    return large("LSTM, 2 x 512", precision)["times torch, softmax"][kind]


def against_torch_adaptive(precision: str) -> str:
    speeds = large("LSTM, 2 x 512", precision)["tokens per CPU second"]
    return f"{speeds['adaptive'] / speeds['torch, adaptive']:.2f}"


def attention(precision: str, ratio: str, kept: str = "") -> str:
    return f"{record('attention_training')[f'{precision}, dropout 0.0{kept}'][ratio]:.2f}"


def masked(measure: str) -> float:
    """Of the small BERT's masked pieces of WikiText-2's validation text."""
    return facts("bert_wikitext2")["results"][f"masked_{measure}"]


def masked_lm(precision: str, kept: str = "") -> str:
    return f"{record('masked_lm_training')[f'{precision}, dropout 0.0{kept}']['transformers / ours']:.2f}"


def generation(
    model: str, batch: int | None = None, context: int | None = None, pick: Callable[..., float] = min
) -> str:
    """The ratio to GPT-2; the least (or what `pick` picks) of all rows without batch and context."""
    rows = [row for row in record("attention_generation")["rows"] if batch is None or row["batch"] == batch]
    rows = [row for row in rows if context is None or row["context"] == context]
    return f"{pick(row[f'gpt2 / {model}, steps'] for row in rows):.2f}"


def recurrent(shape: str, precision: str) -> str:
    return f"{record('recurrent_training')[f'{shape}, {precision}']['plain / ours']:.2f}"


def sweep(norm: str, kind: str = "sinusoidal", rate: float = 0.001) -> str:
    key = (norm, kind, rate)
    (run,) = (r for r in record("position_sweep")["runs"] if (r["norm"], r["kind"], r["learning_rate"]) == key)
    return f"{run['validation_loss']:.3f}" + (", diverged" if run["diverged"] else "")


def diverged(norm: str) -> tuple[int, int]:
    runs = [run for run in record("position_sweep")["runs"] if run["norm"] == norm]
    return sum(run["diverged"] for run in runs), len(runs)


def window(kind: str, times: int) -> str:
    return f"{record('extrapolation')['perplexity'][kind][str(times)]['perplexity']:.1f}"


def table_row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def readme() -> Iterator[str]:
    yield f"{record('quickstart')['seconds']:.0f} seconds on one core"
    yield from systems_of_the_readme()
    yield (
        f"A small GPT-1 trains {attention('float32', 'openai-gpt / gpt1')} times as fast as transformers' `openai-gpt` "
        "of equal shape; part of the gain is memory. On WikiText-2's two million tokens, a five-gram is "
        f"estimated {record('ngram_estimation')['5']['speed_ratio']:.2f} times as fast as by `lmplz`"
    )


def quickstart_page() -> Iterator[str]:
    quickstart = record("quickstart")
    yield f"it took {quickstart['seconds']:.0f} seconds"
    for row in quickstart["rows"]:
        size = f"{row['parameters']:,}" if row["parameters"] else f"{row['table_entries']:,} n-grams"
        perplexities = (f"{row[part]['perplexity']:.1f}" for part in ("validation", "test"))
        yield table_row(
            row["title"], size, f"{row['seconds']:.2f}", *perplexities, f"{row['test']['bits_per_byte']:.3f}"
        )


def systems_of_the_readme() -> Iterator[str]:
    """The last cells of the rows."""
    yield f"| three-way SST: {accuracy('bag_of_words_sst3')} |"
    yield f"| three-way SST: {accuracy('padded_mlp_sst3')}, {accuracy('padded_mlp_layer_per_input_sst3')} |"
    # KenLM's own figure is held to ours by tests/models/ngram/test_kenlm_ngram.py.
    best = ngram(5, "modified_kneser_ney")
    yield f"perplexity {best} (KenLM: {best}) |"
    for name in ("feed_forward", "recurrent", "self_attention", "transformer_xl", "efficient_transformer", "gpt1"):
        yield f"perplexity {ppl(name)} after {minutes(name)} minutes"
    *_, joint, _, drawn = point_bits()
    yield f"| pen strokes: {drawn} bits per point (joint Gaussian: {joint}) |"
    sooner = record("word2vec")["skip_gram"]["ratios"]["seconds to the same loss"]
    yield f"| gensim's loss {sooner:.2f} times as fast |"
    without, with_it = (percent(record("elmo")[f"ewt, {way}"]) for way in ("without", "with"))
    yield f"| tags of EWT: {without} % without it, {with_it} % with it |"
    images = [record("vit_accuracy")[f"fashion_mnist, {way}"]["test accuracy"] for way in VIT_STARTS]
    yield f"| Fashion-MNIST: {100 * images[0]:.1f} %, {100 * images[2]:.1f} % with pre-training |"
    one, *_, dot = map(bleu, RECURRENT_TRANSLATORS)
    yield f"| BLEU {one} with one vector, {dot} with attention |"
    name = "transformer_multi30k"
    yield f"| BLEU {bleu(name)} after {training_minutes(name)} minutes; equals `marian` |"
    exact = 100 * facts(CAPTIONS)["results"]["exact_match"]
    yield f"| templated captions of Fashion-MNIST: {exact:.1f} % right word by word |"


def wikitext2_page() -> Iterator[str]:
    yield from (table_row(*row) for row in [wikitext2_table.COLUMNS, *wikitext2_table.make_rows()])
    grammar = [f"{100 * row['accuracy']:.0f}" for row in record("blimp")["rows"].values()]
    ngrams, (feed_forward, lstm, *others) = set(grammar[:3]), grammar[3:]
    others = sorted({feed_forward, *others})
    assert len(ngrams) == 1
    yield (
        f"{ngrams.pop()} % of the pairs for the n-grams, {lstm} % for the LSTM, "
        f"{others[0]} to {others[-1]} % for the others"
    )


def usage_page() -> Iterator[str]:
    slower = [row["ratio"] for row in record("fusion")["rows"]]
    yield f"takes {min(slower):.1f} to {max(slower):.1f} times the time"


def tokenizers_page() -> Iterator[str]:
    found = record("segmentations")
    unigram, pairs_of_bytes = (found["pieces"][name] for name in ("UnigramTokenizer", "BpeTokenizer"))
    networks = [f"{kind['lstm_bits_per_byte']:.2f}" for kind in (unigram, pairs_of_bytes)]
    yield "needs {} bits per byte in unigram pieces and {} in byte pairs".format(*networks)
    yield f"with {found['vocab_size']:,} pieces over bytes"
    (both,) = {f"{kind['ngram_bits_per_byte']:.2f}" for kind in (unigram, pairs_of_bytes)}
    yield f"A 4-gram needs {both} in either"
    with_samples, without, deviations = samples("segmentations_few")
    yield f"on 100 lines read 80 times, it needs {with_samples} bits per byte with samples and {without} without"
    yield f"(best weights; three seeds, {deviations})"
    few = record("segmentations_few")["sampling"]
    last = [[curve[-1] for curve in few[name]["validation_bits_per_byte"]] for name in SAMPLES]
    means = (sum(one) / len(one) for one in last)
    yield "After the last step it needs {:.2f} and {:.2f} on the validation text".format(*means)
    with_samples, without, deviations = samples("segmentations")
    yield f"needs {with_samples} bits per byte with samples and {without} without ({deviations})"
    gains = [found["marginal"][f"order {order}"]["gain_percent"] for order in (1, 3)]
    yield "of a 1-gram by {:.2f} % and of a 3-gram by {:.2f} %".format(*gains)


SAMPLES = ("sampled, alpha 0.2", "best segmentation")


def samples(name: str) -> tuple[str, str, str]:
    """Test bits per byte of a network with samples, and without; and the standard deviations."""
    found = [record(name)["sampling"][kind] for kind in SAMPLES]
    sampled, best = (f"{one['mean']:.2f}" for one in found)
    deviations = (one["standard_deviation"] for one in found)
    return sampled, best, "standard deviations {:.2f} and {:.2f}".format(*deviations)


def adaptation_page() -> Iterator[str]:
    results = record("adaptation")
    found: dict[str, dict[str, float]] = {}
    for row in results["rows"]:
        kinds = [name for name in ("Continuous", "Dynamic", "Unigram") if name in row["adaptation"]]
        found.setdefault(row["model"], {})["+".join(kinds)] = row["perplexity"]
    for model, row in found.items():
        kinds = ("", "Unigram", "Continuous", "Dynamic", "Dynamic+Unigram")
        yield table_row(model, *(f"{row[kind]:.1f}" if kind in row else "–" for kind in kinds))
    lstm, five = found["LSTM"], found["5-gram"]
    falls = [f"{100 * (1 - row['Unigram'] / row['']):.1f} %" for row in (five, lstm)]
    yield "of the 5-gram by {}, of the LSTM by {}".format(*falls)
    yield f"lowers the LSTM's by {100 * (1 - lstm['Continuous'] / lstm['']):.1f} %"
    plain, learnt = ([r for r in results["rows"] if r["model"] == "LSTM"][i]["cpu_s"] for i in (0, 3))
    yield f"is worth as much, {100 * (1 - lstm['Dynamic'] / lstm['']):.1f} %, at {learnt / plain:.1f} times the time"
    tried = [one for one in results["tried"] if one["adaptation"].startswith("Dynamic") and one["model"] == "LSTM"]
    assert len(tried) == 7, "three of gradient descent, four by the size of gradients"
    descent, by_size = (min(one["tuning_perplexity"] for one in part) for part in (tried[:3], tried[3:]))
    yield f"on the validation text, {by_size:.1f} against {descent:.1f}"
    sample = results["distillation"]
    yield f"The 3-gram of {sample['sampled_tokens']:,} words that the LSTM wrote"
    both, alone = found["3-gram + distilled 3-gram"][""], found["3-gram"][""]
    yield f"the 3-gram falls by {100 * (1 - both / alone):.1f} % only"
    tokens = record("ngram_estimation")["3"]["ours"]["tokens"]
    yield f"The sample is {sample['sampled_tokens'] / tokens:.1f} times as long as the real text"
    yield f"took {sample['cpu_s']:.0f} CPU seconds"


def sentence_pairs_page() -> Iterator[str]:
    words, characters = pairs("words of WikiText-2, 5-gram"), pairs("characters of WikiText-2, 6-gram")
    words += pairs("words of all captions, 5-gram")
    characters += pairs("characters of 5,000 captions, 6-gram")
    verdicts = ["disagrees", "disagrees", "the slide leaves it open", "a tie", "a tie"]
    agree = [": agrees", ": disagrees", "", ": agrees", ": agrees"]
    for word, verdict, character, agrees in zip(words, verdicts, characters, agree, strict=True):
        assert (verdict == "a tie") == (word[0] == word[1])
        assert agrees == "" or (agrees == ": agrees") == (float(character[0]) > float(character[1]))
        yield f"| {word[0]}, {word[1]}: {verdict} | {character[0]}, {character[1]}{agrees} |"
    counts = record("sentence_pairs")["occurrences"]
    assert counts["grey tape"] == counts["lighthouse keeper"] == counts["a lighthouse"] == 0
    yield f'"a light" does, {counts["a light"]} times'
    (better, worse), _ = pairs("characters of all 29,000 captions, 6-gram")
    yield f"after all 29,000 captions dansés is level with dansé ({worse}, {better})"


def code_page() -> Iterator[str]:
    """What one reads to follow each flow."""
    titles = {
        "language_model": "LSTM language model, recipe to checkpoint",
        "loss": "its forward pass and loss alone",
        "classifier": "BERT on RTE, files to checkpoint",
        "translation": "translation with additive attention, recipe to checkpoint",
        "n_gram": "Kneser-Ney, texts to model",
        "n_gram_logits": "its logits, from ids",
    }
    counts = record("reading_path")
    for name, title in titles.items():
        cells = [f"{counts[name][key]:,}" for key in ("files", "functions", "lines", "lines of docstrings")]
        yield f"| {title} | {' | '.join(cells)} |"


def speed_page() -> Iterator[str]:
    estimation, scoring = record("ngram_estimation"), record("ngram_scoring")
    ratios, speeds = scoring["ratios"], scoring["tokens_per_cpu_s"]
    padded = [speeds["ids, batches of 256 rows"] / speeds[f"kenlm {kind}"] for kind in ("trie", "probing")]
    yield f"| KenLM's `lmplz` | {estimation['5']['speed_ratio']:.2f} ({estimation['3']['speed_ratio']:.2f}) |"
    yield f"| {ratios['kenlm trie']:.2f}; {ratios['kenlm probing']:.2f} ({padded[0]:.2f}; {padded[1]:.2f}) |"
    text, verb = (scoring["all_ratios"][name]["kenlm probing"] for name in ("text", "text, by the verb score"))
    yield f"| `kenlm`, probing, already loaded | {text:.2f} ({verb:.2f}) |"
    texts = [
        scoring["all_ratios"][f"texts, {name}"]["kenlm probing"] for name in ("score_texts", "evaluate_language_model")
    ]
    yield f"(`evaluate_language_model`) | `kenlm`, probing | {texts[0]:.2f} ({texts[1]:.2f}) |"
    yield f"| `kenlm`, probing, one query a word | {scoring['distribution_ratio']:.0f} |"
    both = ("float32", "bf16 autocast")
    small, medium = ([recurrent(shape, kind) for kind in both] for shape in RECURRENT_SHAPES)
    yield f"| plain `torch.nn.LSTM` loop | {small[0]} ({small[1]}) |"
    yield f"| the same, 2 × 512, 8 k words | | {medium[0]} ({medium[1]}) |"
    for precision, passage in zip(both, ("torch's LSTM with a full softmax", "the same, bf16 |"), strict=True):
        times = {kind: against_torch(kind, precision) for kind in ("adaptive", "noise_contrastive")}
        yield f"{passage} | {times['adaptive']:.2f} ({times['noise_contrastive']:.2f}) |"
    yield f"torch's adaptive softmax | {against_torch_adaptive(both[0])} ({against_torch_adaptive(both[1])}) |"
    for peer, first in (("openai-gpt", "8 k tokens, float32 | transformers' `openai-gpt`"), ("gpt2", "`gpt2`")):
        yield f"{first} | {attention(both[0], f'{peer} / gpt1')} ({attention(both[0], f'{peer} / self_attention')}) |"
        yield (
            f"the same, bf16 | | {attention(both[1], f'{peer} / gpt1')} "
            f"({attention(both[1], f'{peer} / self_attention')}) |"
        )
    yield f"`BertForMaskedLM` | {masked_lm(both[0])} ({masked_lm(both[1])}) |"
    yield f"`ViTForImageClassification` | {vit_speed(both[0])} ({vit_speed(both[1])}) |"
    masked = [vit_speed(f"masked images, {kind}") for kind in both]
    yield f"`ViTForMaskedImageModeling` | {masked[0]} ({masked[1]}) |"
    marian = record("translation_throughput")
    for size, shape in (("small", "3 + 3 × 256"), ("large", "6 + 6 × 512")):
        keys = [[f"training, {size}, {kind}{more}" for kind in both] for more in ("", ", smoothed")]
        keys.append([f"beam search, {size}, batch of {rows}" for rows in (1, 16)])
        plain, smoothed, beams = [[marian[key]["transformers / ours"] for key in pair] for pair in keys]
        yield (
            f"`transformer`, {shape}, 8 k tokens, float32 (bf16) | transformers' `MarianMTModel` | {plain[0]:.2f} "
            f"({plain[1]:.2f}) |"
        )
        yield f"| and torch's `cross_entropy` | {smoothed[0]:.2f} ({smoothed[1]:.2f}) |"
        yield f"5 beams, batch 1 (16) | transformers' `MarianMTModel` | {beams[0]:.2f} ({beams[1]:.2f}) |"
    sooner = [record("word2vec")[name]["ratios"]["seconds to the same loss"] for name in ("skip_gram", "cbow")]
    yield "gensim | {:.2f} ({:.2f}) |".format(*sooner)
    kept = ", freed memory kept"
    for passage, ratios in (
        ("plain `torch.nn.LSTM` loop", [recurrent(RECURRENT_SHAPES[0], kind + kept) for kind in both]),
        ("LSTM, 2 × 512, 8 k words |", [recurrent(RECURRENT_SHAPES[1], kind + kept) for kind in both]),
        ("transformers' `openai-gpt`", [attention(kind, "openai-gpt / gpt1", kept) for kind in both]),
        ("`BertForMaskedLM`", [masked_lm(kind, kept) for kind in both]),
    ):
        yield f"{passage} | {ratios[0]} | {ratios[1]} |"
    lengths = [(generation("gpt1", batch), generation("gpt1", batch, pick=max)) for batch in (1, 16)]
    yield (
        f"batch 1 lies between {' and '.join(lengths[0])} times GPT-2's speed, batch 16 between "
        f"{' and '.join(lengths[1])}"
    )
    for passage, where in (
        ("`generate()` with them after 64 tokens, batch 1 | transformers' `gpt2`", (1, 64)),
        ("the same after 900 tokens, batch 16 |", (16, 900)),
        ("the least of all lengths, batch 1 and 16 |", ()),
    ):
        yield f"{passage} | {generation('gpt1', *where)} ({generation('self_attention', *where)}) |"
    yield from parts_of_a_step()
    words, pieces = record("bpe_training")["words"], record("bpe_training")["bytes"]
    yield f"| {words['train_speed_ratio']:.2f} ({pieces['train_speed_ratio']:.2f}); " + (
        f"{words['encode_speed_ratio']:.1f} ({pieces['encode_speed_ratio']:.1f}) |"
    )
    first, *_, last = record("recurrent_generation")["LSTM 2 x 512"]
    speed = "bare loop: tokens per CPU second"
    yield recomputing()
    yield f"keeps {first['KiB of state']:.0f} KiB of state (2 × 512)"
    yield f"makes {first[speed]} tokens per second after 16 tokens, {last[speed]} after {last['context']:,}"


def parts_of_a_step() -> Iterator[str]:
    """Percent of GPT-2's step, at batch 1 and 16."""
    rows = record("generation_parts")["rows"]
    for part in (*rows[0]["gpt2"], "the whole step"):
        cells = []
        for model in ("gpt2", "gpt1", "self_attention"):
            spent = [row[model].get(part, sum(row[model].values())) for row in rows]
            one, many = (100 * ms / sum(row["gpt2"].values()) for ms, row in zip(spent, rows, strict=True))
            cells.append(f"{one:.0f} ({many:.0f})")
        title = part.replace("forward", "`forward`").replace("generate()", "`generate()`")
        yield f"| {title} | {' | '.join(cells)} |"


def recomputing() -> str:
    """Gradient checkpointing of the deepest model."""
    results = record("gradient_checkpointing")
    shape, deepest, block = results["shape"], results["depths"]["12"], results["MiB per block"]
    memory = f"{deepest['on: MiB']:,.0f} MiB instead of {deepest['off: MiB']:,.0f}"
    return (
        f"`self_attention` of 12 × {shape['hidden_size']}, {shape['batch']} texts of {shape['length']} tokens: "
        f"{memory}, {deepest['seconds, on / off']:.2f} times the seconds. A further block takes "
        f"{block['on']:.0f} MiB instead of {block['off']:.0f}"
    )


RECURRENT_SHAPES = ("WikiText-2: 2 x 200, 33 k words", "2 x 512, 8 k words")


def lecture_map() -> Iterator[str]:
    five = record("crows_pairs")["rows"][FIVE_GRAM]
    yield (
        f"prefer the stereotype in {crows_pairs.percent(five['frequencies']['all'])} % of the pairs, the 5-gram in "
        f"{crows_pairs.percent(five['whole']['all'])} %"
    )
    yield (
        energy_of_the_cards()[0].replace("of the cards", "of the [cards](../hub_cards/README.md)").removeprefix("The ")
    )
    exact = 100 * facts(CAPTIONS)["results"]["exact_match"]
    yield f"[captions of Fashion-MNIST](../hub_cards/{CAPTIONS}.md): {exact:.1f} % right word by word"
    *_, joint, _, drawn = point_bits()
    yield f"[pen strokes](../hub_cards/graves_omniglot.md): {drawn} bits per point, "
    yield f"[joint Gaussian](../hub_cards/graves_joint_omniglot.md) {joint}"
    found = facts("bert_wikitext2")["results"]
    masked, following = (f"{100 * found[name]:.1f} %" for name in ("masked_accuracy", "next_sentence_accuracy"))
    yield (
        f"[BERT on WikiText-2](../hub_cards/bert_wikitext2.md): {masked} of the masked tokens, {following} of the next "
        "sentences"
    )
    one, turned, _, dot = map(bleu, RECURRENT_TRANSLATORS)
    yield f"[six translators](translation.md): BLEU {one} with one vector, {turned} with the source reversed"
    yield f"[six translators](translation.md): BLEU {one} with one vector |"
    yield f"[six translators](translation.md): BLEU {dot} with dot attention"
    pieces = record("segmentations")["pieces"]
    networks = [f"{pieces[name]['lstm_bits_per_byte']:.2f}" for name in ("UnigramTokenizer", "BpeTokenizer")]
    yield "needs {} bits per byte in unigram pieces and {} in byte pairs".format(*networks)
    digits = point_rows()["digits"][-1]["bits_per_point"]
    yield f"[digits by rows](../hub_cards/graves_digits.md): {digits:.2f} bits per row"
    yield f"[three-way SST](../hub_cards/bag_of_words_sst3.md): {accuracy('bag_of_words_sst3')} of the test sentences"
    yield f"[SST-2](../hub_cards/bag_of_words_sst2.md): {accuracy('bag_of_words_sst2')} of the validation set"
    yield f"[three-way SST](../hub_cards/gpt1_sst3.md): {accuracy('gpt1_sst3')} of the test sentences"
    for recipe in ("padded_mlp_sst3", "padded_mlp_layer_per_input_sst3"):
        yield f"[three-way SST](../hub_cards/{recipe}.md): {accuracy(recipe)} of the test sentences"
    yield (
        f"[three-way SST](../hub_cards/recurrent_sst3.md), last state: {accuracy('recurrent_sst3')} of the test "
        f"sentences (bag of words: {accuracy('bag_of_words_sst3')})"
    )
    yield f"[English Web Treebank](../hub_cards/recurrent_ewt.md): {accuracy('recurrent_ewt')} of the test words"
    kinds = ("LSTM, last state", "LSTM of two layers, last state", "LSTM both ways, last states")
    one_layer, two_layers, both_ways = (with_error(record("sentence_classifiers")["rows"][kind]) for kind in kinds)
    yield f"last state: two layers {two_layers} % of the test sentences, one layer {one_layer} %"
    yield f"last states: both ways {both_ways} %, one way {one_layer} %"
    sst, rte = (transfer(title) for title in ("SST, three-way", "RTE"))
    yield (
        f"three-way SST {sst[0]} % by its features, {sst[1]} % with all weights trained; RTE {rte[0]} and {rte[1]} %. "
        f"Pseudo-labels: the bag of words from {percent(record('pseudo_labels')['without'])} to "
        f"{percent(record('pseudo_labels')['with'])} %"
    )
    (grey, great), *_ = pairs("words of WikiText-2, 5-gram")
    (grey_letters, great_letters), *_ = pairs("characters of WikiText-2, 6-gram")
    yield f"{grey} and {great} by a 5-gram of words, {grey_letters} and {great_letters} by a 6-gram of characters"
    yield (
        f"if ape is `<unk>` ({great} against {grey}), and loses by characters ({great_letters} against {grey_letters})"
    )
    (danse, danses), (_, dansee) = pairs("characters of 5,000 captions, 6-gram")
    yield f"of the characters of 5,000 captions: {danse}, {danses}, {dansee}"
    slower = [row["ratio"] for row in record("fusion")["rows"]]
    yield f"takes {min(slower):.2f} to {max(slower):.2f} times the time"
    yield f"[LSTM on WikiText-2](../hub_cards/recurrent_wikitext2.md): test perplexity {ppl('recurrent')}"
    yield f"validation perplexity {ppl('recurrent', 'valid')}"
    yield f"{recurrent(RECURRENT_SHAPES[0], 'float32')} times as fast as a plain loop over `torch.nn.LSTM`"
    first, *_, last = record("recurrent_generation")["LSTM 2 x 512"]
    speed = "bare loop: tokens per CPU second"
    yield f"{first['KiB of state']:.0f} KiB for 2 × 512"
    yield f"{first[speed]} tokens a second after 16 tokens, {last[speed]} after {last['context']:,}"
    words, pieces = record("bpe_training")["words"], record("bpe_training")["bytes"]
    learning = (
        f"[learning {record('bpe_training')['vocab_size']:,} byte pairs](../benchmarks/results/bpe_training.json):"
    )
    yield (
        f"{learning} {words['train_speed_ratio']:.2f} times as fast as `tokenizers`; encoding "
        f"{words['encode_speed_ratio']:.1f} times"
    )
    yield (
        f"{learning} {words['train_speed_ratio']:.2f} of `tokenizers`' speed, of bytes "
        f"{pieces['train_speed_ratio']:.2f}"
    )
    losses = ", ".join(
        f"{kind} {sweep('pre', kind.lower())}" for kind in ("sinusoidal", "learned", "relative", "ALiBi", "none")
    )
    yield f"validation loss with pre-LN: {losses}"
    (pre, all_pre), (post, all_post) = diverged("pre"), diverged("post")
    yield f"{pre} of {all_pre} pre-LN runs diverged, {post} of {all_post} post-LN runs did"
    recomputed = record("gradient_checkpointing")["depths"]["12"]
    yield f"12 layers: {recomputed['on: MiB']:,.0f} MiB instead of {recomputed['off: MiB']:,.0f}"
    deep = {(row["residual"], row["norm"]): row["Glorot"]["24"] for row in record("depth_gradients")["variants"]}
    ratio = [f"{deep[variant]['weights']:.2g}" for variant in ((True, "pre"), (True, "none"), (False, "none"))]
    yield f"24 layers' first over last gradient {ratio[0]} with both, {ratio[1]} without norms, {ratio[2]} with neither"
    yield f"{ppl('self_attention')} after {epochs('self_attention')} epochs"
    yield f"{ppl('recurrent')} after {epochs('recurrent')}"
    yield f"](../hub_cards/self_attention_wikitext2.md): test perplexity {ppl('self_attention')}"
    yield f"](../hub_cards/gpt1_wikitext2.md): test perplexity {ppl('gpt1')} per word"
    without_memory = record("transformer_xl")["perplexity"]["0"]["perplexity"]
    yield (
        f"](../hub_cards/transformer_xl_wikitext2.md): test perplexity {ppl('transformer_xl')}, "
        f"{without_memory:.1f} without it"
    )
    yield f"[GPT-1's blocks](../benchmarks/results/gpt1_wikitext2.json): {bits('gpt1')} bits per byte"
    yield f"{attention('float32', 'openai-gpt / gpt1')} times as fast as transformers' `openai-gpt`"
    grammar = {name: f"{100 * row['accuracy']:.1f}" for name, row in record("blimp")["rows"].items()}
    yield (
        f"{grammar['5-gram, modified Kneser-Ney']} % of the pairs for the 5-gram, {grammar['LSTM, 2 x 200']} "
        "% for the LSTM"
    )
    four = record("prompting")["other words"]
    copa, balanced = (f"{100 * four[task][0]['scores']['sum']['accuracy']:.1f}" for task in ("copa", "balanced_copa"))
    yield f"a 4-gram finds {copa} % of COPA's answers and {balanced} % of Balanced COPA's"
    yield f"{record('ngram_estimation')['5']['speed_ratio']:.2f} times as fast as `lmplz`"
    ratios = record("ngram_scoring")["ratios"]
    yield f"{ratios['kenlm trie']:.2f} times as fast as `kenlm`'s trie, {ratios['kenlm probing']:.2f} of its hash table"
    yield (
        f"order 5: modified Kneser-Ney {ngram(5, 'modified_kneser_ney')}, Kneser-Ney {ngram(5, 'kneser_ney')}, linear "
        f"interpolation {ngram(5, 'jelinek_mercer')}, absolute discounting "
        f"{ngram(5, 'absolute_discounting')}; order 2: +1 "
        f"{ngram(2, 'add_alpha', alpha=1.0)}, +0.001 {ngram(2, 'add_alpha', alpha=0.001)}"
    )
    yield f"test perplexity {ppl('feed_forward')}, the 5-gram's is {ngram(5, 'modified_kneser_ney')}"
    rare = {
        name: model["input"]["1"]["context cosine"]
        for name, model in record("feed_forward_neighbours")["models"].items()
    }
    chance = record("feed_forward_neighbours")["random words"]["1"]["context cosine"]
    assert rare["free"] == pytest.approx(chance, abs=0.003), "less than a standard error"
    yield f"words seen once: {rare['one vector']} from one vector, {rare['free']} free, as random words"
    yield (
        f"{against_torch('adaptive', 'float32'):.2f} times the speed of torch's full "
        f"softmax, {against_torch_adaptive('float32')} of torch's own adaptive softmax"
    )
    lengths = ((name, [window(name.lower(), times) for times in (1, 8)]) for name in LONGER_TEXTS)
    yield ", ".join(f"{name} {first} to {last}" for name, (first, last) in lengths)
    yield f"`generate()` after 64 tokens: {generation('gpt1', 1, 64)} times as fast as transformers' `gpt2`"
    yield f"in a batch of 16 after 256 tokens {generation('gpt1', 16, 256)}"
    yield f"{bits('self_attention_bpe')} bits per byte, in words [{bits('self_attention')}]"
    runs = record("word2vec")["skip_gram"]["runs"]
    losses = [f"{runs[name]['held_out_loss']:.3f}" for name in ("ours, 5 epochs", "gensim")]
    yield f"a held-out pair costs {losses[0]} nats, [gensim's](../benchmarks/results/word2vec.json) {losses[1]}"
    shares = [percent(record("elmo")[f"{data}, {way}"]) for data in ("ewt", "wnut17") for way in ("without", "with")]
    yield "{} %, with it {} %; names in WNUT-17: F1 {}, with it {}".format(*shares)
    images = [record("vit_accuracy")[f"fashion_mnist, {way}"]["test accuracy"] for way in VIT_STARTS]
    yield f"9,000 images to learn from: {100 * images[0]:.1f} % of the test images"
    by_unit = {unit: f"{100 * row['clean']:.1f}" for unit, row in record("units")["units"].items()}
    words, morphs, pixels = (by_unit[name] for name in ("words", "morphs (Morfessor)", "pixels"))
    yield f"words are right for {words} %, morphs {morphs}, bytes {by_unit['bytes']}, pixels {pixels}"
    yield f"on the same images {100 * images[2]:.1f} %: more, not less"
    nothing, classes, _, colors = (row["mean"] for row in vit_transfers())
    assert classes < nothing < colors
    yield (
        f"{100 * nothing:.1f} % without pre-training, {100 * classes:.1f} % after classes, {100 * colors:.1f} % after "
        "masked mean colors"
    )
    assert images[2] > images[0]


def neighbours() -> Iterator[str]:
    results = record("feed_forward_neighbours")
    models, chance = results["models"], results["random words"]
    for row in results["tables"]["input"]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if cells[1] in ("free", "one vector"):
            yield row
    bands = list(chance)
    alike = ("free", "equal", "one vector", "tied")
    for band in bands:
        digits = 2 if band in bands[:2] else 3
        found = [chance[band]["context cosine"], *(models[name]["input"][band]["context cosine"] for name in alike)]
        cells = [f"{value:.{digits}f}" for value in found]
        words = models["free"]["input"][band]["words"]
        best = max(found[1:])
        if band not in bands[:1]:
            cells = [f"**{cell}**" if value == best else cell for cell, value in zip(cells, found, strict=True)]
        yield table_row(f"{band} ({words} words)" if band == bands[0] else f"{band} ({words})", *cells)
        shares = []
        for share in ("same form", "rare"):
            of = [chance[band][share], *(models[name]["input"][band][share] for name in ("free", "one vector", "tied"))]
            shares += [f"{100 * value:.0f} %" for value in of]
        yield table_row(band, *shares)
    yield table_row(
        "validation perplexity (first quarter of the lines)",
        *(f"{models[name]['validation_perplexity']:.1f}" for name in alike),
    )
    yield table_row("parameters", *(f"{models[name]['parameters']:,}" for name in alike))
    yield f"mean cosine {models['one vector']['input']['1']['similarity']:.4f} for words that occur once"


def blimp_page() -> Iterator[str]:
    yield from blimp.table(record("blimp")["rows"]).splitlines()


def babylm_page() -> Iterator[str]:
    results = record("babylm")
    yield from babylm.table(results["rows"]).splitlines()
    yield f"The first {results['pairs_of_a_paradigm']} pairs"
    assert all(row["largest_difference"] == 0 for row in results["rows"].values())
    yield f"up to {babylm.ROUNDING:.4f} nats"
    theirs = {title: round(100 * row["pipeline_accuracy"], 1) for title, row in results["rows"].items()}
    better = sorted((theirs[title] - theirs[FIVE_GRAM], title) for title in wikitext2_table.NETWORKS)
    (least, last), (most, first) = better[0], better[-1]
    assert (last, first) == ("GPT-1's blocks (post-LN), BPE 8 k", "LSTM, 2 x 200")
    yield f"by {least:.1f} (GPT-1's blocks) to {most:.1f} points (the LSTM)"


TURNED_TYPES = ("nationality", "religion", "sexual-orientation", "socioeconomic")
FIVE_GRAM = "5-gram, modified Kneser-Ney"


def bias_page() -> Iterator[str]:
    yield from stereotypes()
    yield from secrets()
    yield from repetitions()
    yield from energy_of_the_cards()


def stereotypes() -> Iterator[str]:
    rows = record("crows_pairs")["rows"]
    yield from crows_pairs.table(rows).splitlines()
    for score in ("whole", "shared"):
        yield from crows_pairs.table_of_types(rows, score).splitlines()
    five, trigram = rows[FIVE_GRAM], rows["trigram, modified Kneser-Ney"]
    words, pairs = five["frequencies"], five["whole"]["all"]["pairs"]
    shares = {name: crows_pairs.percent(row).split()[0] for name, row in words["types"].items()}
    assert (min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)) == ("sexual-orientation", "age")
    yield f"{pairs:,} pairs"
    yield f"in {crows_pairs.percent(words['all'])} % of the pairs"
    yield f"in {shares['sexual-orientation']} % for sexual orientation and in {shares['age']} % for age"
    stereo, antistereo = (
        crows_pairs.percent(words["directions"][name]).split()[0] for name in ("stereo", "antistereo")
    )
    yield f'{stereo} % in the direction "stereo" and {antistereo} % in "antistereo"'
    alike = [f"{100 * row['same_answer']:.0f}" for row in (trigram, five)]
    assert alike[0] == alike[1]
    yield f"both n-grams answer like the frequencies in {alike[0]} % of the pairs"
    shared = [crows_pairs.percent(row["shared"]["known"]) for row in (trigram, five)]
    yield f"in {shared[0]} and {shared[1]} % of the pairs of known words"
    networks = {title: row for title, row in rows.items() if title in crows_pairs.TITLES}
    bert = "BERT, word pieces"
    whole = {title: crows_pairs.percent(row["whole"]["all"]).split()[0] for title, row in networks.items()}
    lstm, forward, gpt1 = (
        whole[title] for title in ("LSTM, 2 x 200", "feed-forward, order 5", "GPT-1's blocks (post-LN), BPE 8 k")
    )
    assert float(lstm) < float(whole["self-attention, words"]) < float(forward)
    yield (
        f"in {lstm} (LSTM) to {forward} % (feed-forward) of the pairs; self-attention in byte pairs in "
        f"{whole['self-attention, BPE 8 k']} %, GPT-1's blocks in {gpt1} % and BERT in {whole[bert]} %, which read "
        "pieces"
    )
    same = sorted(100 * row["same_answer"] for row in networks.values())
    yield f"in {same[0]:.0f} to {same[-1]:.0f} % of the pairs"
    for title, row in networks.items():
        known = row["shared"]["known"]
        assert (abs(known["preferred"] - 0.5) < 2 * known["standard_error"]) == (title != bert)
    preferred = crows_pairs.percent(networks[bert]["shared"]["known"])
    yield f"is within two standard errors of 50 %. BERT prefers the stereotype in {preferred} %"


def secrets() -> Iterator[str]:
    found = record("canaries")
    yield from canaries.table(found["models"]).splitlines()
    yield f"{found['lines']:,} lines of WikiText-2"
    yield f"all {found['candidates']:,} numbers"
    models = found["models"]
    assert all(len(model["runs"]) == 1 for model in models.values())
    (seconds, more), epochs = (
        (models[name]["runs"][0]["train_cpu_s"] for name in ("LSTM", "Transformer")),
        found["training"]["epochs"],
    )
    yield f"{found['owners']} secrets for each number, one seed for each model"
    yield f"for {epochs} epochs ({seconds:.0f} CPU seconds the LSTM, {more:.0f} the Transformer)"
    yield f"over the same {found['vocabulary']:,} words"

    def bits(name: str, times: int) -> str:
        row = models[name]["exposure"][str(times)]
        return f"{row['bits']:.1f} ± {row['standard_error']:.1f}"

    once, twice = (bits("5-gram", times).split()[0] for times in (1, 2))
    yield f"({once} bits after one occurrence, {twice} after two)"
    many, most, lstm = bits("Transformer", 32), bits("Transformer", 64), bits("LSTM", 64)
    yield f"reaches {many} bits after 32 occurrences and {most} after 64, the LSTM {lstm}"
    better, worse = (models[name]["runs"][0]["validation_perplexity"] for name in ("Transformer", "LSTM"))
    yield f"(perplexity {better:.0f} against {worse:.0f})"
    for name in ("LSTM", "Transformer"):
        rows = models[name]["exposure"]
        assert abs(rows["1"]["bits"] - rows["0"]["bits"]) <= rows["0"]["standard_error"] + rows["1"]["standard_error"]


def repetitions() -> Iterator[str]:
    rows = record("loss_by_distance")["rows"]
    for which in ("words", "seldom"):
        yield from loss_by_distance.table(rows, which).splitlines()
    shown = {
        name: {label: bits for label, _, bits in loss_by_distance.shown(row["seldom"])} for name, row in rows.items()
    }
    near, far = "1 to 7", "8,192 and more"
    plain, cached = shown[FIVE_GRAM], shown[loss_by_distance.CACHED]
    yield f"The 5-gram needs {plain[near]:.1f} bits for a seldom word that occurred 1 to 7 words before"
    known = [bits for label, bits in plain.items() if label != "first occurrence"]
    yield f"and no fewer than {min(known):.1f} at any distance"
    yield f"Interpolated with a cache of {loss_by_distance.CACHE.window:,} words it needs {cached[near]:.1f}"
    lost = cached[far] - plain[far]
    yield f"has not occurred for 8,192 words or more, the cache is of no use, and it loses {lost:.1f} bits"
    lstm, attention = (
        {place: shown["feed-forward, order 5"][place] - shown[name][place] for place in (near, far)}
        for name in ("LSTM, 2 x 200", "self-attention, words")
    )
    yield f"the LSTM saves {lstm[near]:.1f} bits for a seldom word that occurred 1 to 7 words before, and"
    yield f"{lstm[far]:.1f} for one that has not occurred for 8,192 words or more; self-attention in words"
    saved = f"{plain[near] - cached[near]:.1f} bits that the cache saves the 5-gram"
    yield f"saves {attention[near]:.1f} and {attention[far]:.1f}. That is far from the {saved}"
    words = [name for name in wikitext2_table.NETWORKS if "BPE" not in name]
    for pieces in shown.keys() & wikitext2_table.NETWORKS.keys() - set(words):
        assert all(shown[pieces][place] > shown[name][place] for name in words for place in plain), "more everywhere"


def energy_of_the_cards() -> tuple[str, str]:
    names = sorted(path.stem for path in (ROOT / "hub_cards" / "facts").glob("*.json"))
    estimates = {name: estimate_energy(facts(name).get("training") or {}) for name in names}
    known: dict[str, Energy] = {name: one for name, one in estimates.items() if one is not None}
    hours, grams = (sum(getattr(one, unit) for one in known.values()) for unit in ("watt_hours", "grams"))
    together = f"The {len(known)} trainings of the cards together: {hours:.0f} Wh and {grams:.0f} g"
    most = max(known, key=lambda name: known[name].watt_hours)
    assert most == "elmo_wikitext2"
    return together, f"[ELMo](../hub_cards/{most}.md), {known[most].watt_hours:.1f} Wh and {known[most].grams:.1f} g"


def reading_times_page() -> Iterator[str]:
    results = record("reading_times")
    rows, few = results["rows"], "5-gram, 1/16 of the text"
    yield from reading_times.table(rows).splitlines()
    yield f"ten stories of together {results['words_read']:,} words"
    yield f"apostrophe or hyphen ({rows['bigram']['bare']['words']:,} words)"
    yield f"have a word before them ({rows['bigram']['all']['words']:,} words)"
    bare, together = ({title: row[which] for title, row in rows.items()} for which in ("bare", "all"))
    for of in (bare, together):
        ngrams = [of[title] for title in (*reading_times.PARTS_OF_TEXT, "bigram", "trigram")]
        for worse, better in itertools.pairwise(ngrams):
            assert worse["perplexity"] > better["perplexity"]
            assert worse["gain"] < better["gain"], "rises at every step"
        assert all(abs(of[title]["beyond_ngram"]) < 0.0001 for title in ("trigram", "4-gram")), "hardly change"
    yield (
        f"from {gain(bare[few])} at a perplexity of {bare[few]['perplexity']:.1f} to {gain(bare['trigram'])} at "
        f"{bare['trigram']['perplexity']:.1f} for words without marks, and from {gain(together[few])} to "
        f"{gain(together['trigram'])} for all words"
    )
    yield f"{lead(bare[few])} and {lead(together[few])} beyond the one of a sixteenth"
    yield f"{lead(bare['bigram'])} and {lead(together['bigram'])} beyond the bigram"
    lower = results["lower_cased"]
    gains, orders = ", ".join(map(gain, lower["orders"].values())), ", ".join(lower["orders"])
    yield f"{gains} for orders {orders} ({lower['words']:,} words)"
    networks = {title: row for title, row in bare.items() if title in wikitext2_table.NETWORKS}
    lstm, forward = networks["LSTM, 2 x 200"], networks["feed-forward, order 5"]
    attention, bpe = networks["self-attention, words"], networks["self-attention, BPE 8 k"]
    gpt1 = networks["GPT-1's blocks (post-LN), BPE 8 k"]
    assert networks.keys() == wikitext2_table.NETWORKS.keys(), "all five"
    for row in networks.values():
        assert row["perplexity"] < bare["5-gram"]["perplexity"]
        assert row["beyond_ngram"] > 3 * row["beyond_ngram_error_over_words"]
    assert min(networks.values(), key=lambda row: row["gain"]) == forward
    assert max(networks.values(), key=lambda row: row["gain"]) == bpe
    yield f"from {gain(forward)} (feed-forward) to {gain(bpe)} (self-attention in byte pairs)"
    yield f"this is {beyond_ngram(forward)} to {beyond_ngram(bpe)}, more than three"
    assert f"{lstm['perplexity']:.1f}" == f"{attention['perplexity']:.1f}"
    yield f"the same perplexity, {lstm['perplexity']:.1f}, and nearly the same gain, {gain(lstm)} and {gain(attention)}"
    yield f"of {bpe['perplexity']:.1f} and {gpt1['perplexity']:.1f} they gain {gain(bpe)} and {gain(gpt1)}"
    random = [f"{title}, untrained" for title in ("self-attention, BPE 8 k", "GPT-1's blocks (post-LN), BPE 8 k")]
    yield "gain {} and {} for words without marks".format(*(gain(bare[title]) for title in random))
    yield "{} and {} for all words".format(*(gain(together[title]) for title in random))


def beyond_ngram(row: Mapping[str, float]) -> str:
    return reading_times.with_error(row["beyond_ngram"], row["beyond_ngram_error_over_words"])


def gain(row: Mapping[str, float]) -> str:
    return reading_times.with_error(row["gain"], row["gain_error_over_words"])


def lead(row: Mapping[str, float]) -> str:
    """How much the 5-gram gains beyond a model."""
    return reading_times.with_error(-row["beyond_ngram"], row["beyond_ngram_error_over_words"])


def prompting_page() -> Iterator[str]:
    yield from prompting.figures(record("prompting")).splitlines()
    rows = {title: row for title, row in record("prompting")["rows"].items() if title in wikitext2_table.NETWORKS}
    counts = prompting.above(rows)
    yield (
        f"{counts['above 2']} of their {counts['figures']} figures are more than two standard errors above it and "
        f"{counts['below 2']} as far below"
    )
    assert (counts["above 3"], counts["below 3"]) == (1, 0)
    best = prompting.best_of(rows["GPT-1's blocks (post-LN), BPE 8 k"]["arc_easy"])
    assert (best["score"], best["shots"]) == ("sum", 4)
    assert best["accuracy"] - best["chance"] > 3 * best["standard_error"], "the one beyond three"
    yield f"ARC easy, {prompting.with_error(best)} % by `sum` with four examples"


LONGER_TEXTS = ("ALiBi", "relative", "none", "sinusoidal")


def benchmarks_page() -> Iterator[str]:
    results = record("position_sweep")
    yield (
        f"{results['vocabulary']:,} byte pairs, {results['steps']} steps of {results['batch_size']} × "
        f"{results['sequence_length']}"
    )
    yield f"give {results['unigram_loss']:.3f}"
    for norm in ("pre", "post"):
        kinds = ("sinusoidal", "learned", "relative", "alibi", "none")
        yield table_row(f"{norm}-LN", *(sweep(norm, kind) for kind in kinds))
        yield table_row(f"{norm}-LN", *(sweep(norm, rate=rate) for rate in (0.0003, 0.001, 0.003, 0.01, 0.03)))
    (pre, all_pre), (post, all_post) = diverged("pre"), diverged("post")
    assert pre == 0
    yield f"None of the {all_pre} pre-LN runs diverged, {post} of the {all_post} post-LN runs did"
    for kind in ("sinusoidal", "relative", "alibi", "none"):
        yield table_row(kind.replace("alibi", "ALiBi"), *(window(kind, times) for times in (1, 2, 4, 8)))
    yield table_row("learned", window("learned", 1), "the table ends")[:-2]
    for precision, name in (("float32", "float32"), ("bf16 autocast", "bf16")):
        speeds = large("LSTM, 2 x 512", precision)["tokens per CPU second"]
        with_ratio = {kind: f"{speeds[kind]:,} ({against_torch(kind, precision):.2f})" for kind in speeds}
        with_ratio["torch, softmax"] = f"{speeds['torch, softmax']:,}"
        kinds = ("softmax", "adaptive", "noise_contrastive", "torch, softmax", "torch, adaptive")
        yield table_row(f"LSTM, 2 × 512, {name}", *(with_ratio[kind] for kind in kinds))
        yield feed_forward_speeds(precision, name)
    yield from large_vocabulary_curves()
    classifiers = record("sentence_classifiers")
    yield sentence_classifiers.table(classifiers["rows"])
    for names, found in classifiers["comparisons"].items():
        yield sentence_classifiers.sentence(*names.split(" / "), found)
    yield from lstm_on_three_way_sst()
    yield from pseudo_labels()


def lstm_on_three_way_sst() -> Iterator[str]:
    """All figures of one network on one task, in one table."""
    rows, best = record("sentence_classifiers")["rows"], "best on the validation data"
    last, pooled = (rows[f"LSTM, {vector}"] for vector in ("last state", "maximum"))
    narrow = record("word_vector_inputs")["LSTM, last state"]["rows"]["one-hot"]
    yield table_row("above", "128", "last state", best, with_error(last))
    yield table_row("above", "128", "maximum of the states", best, with_error(pooled))
    nine = record("fine_tuning")["cells"]["LSTM"]["SST, three-way"]
    yield table_row("128", "maximum of the states", "after the last step", with_error(nine))
    yield table_row("100", "last state", best, with_error(narrow))
    assert facts("recurrent_sst3")["results"]["accuracy"] == last["test"][0]
    yield f"the first of the three seeds of the first row, {100 * last['test'][0]:.1f} %"
    yield f"moves the accuracy by {100 * (narrow['mean'] - last['mean']):.1f} points"
    assert max(row["mean"] for title, row in rows.items() if title != "bag of words") < rows["bag of words"]["mean"]


def percent(cell: Mapping[str, Any]) -> str:
    return f"{100 * cell['mean']:.1f}"


def with_error(cell: Mapping[str, Any]) -> str:
    return f"{percent(cell)} ± {100 * cell['standard_error']:.1f}"


def transfer(title: str) -> list[str]:
    """MiniLM on a task, by its features and with all weights trained."""
    cells = record("fine_tuning")["cells"]
    return [percent(cells[model][title]) for model in ("MiniLM, its features", "MiniLM")]


def pseudo_labels() -> Iterator[str]:
    found = record("pseudo_labels")
    with_them, without = (
        f"{100 * found[key]['mean']:.1f} ± {100 * found[key]['standard_error']:.1f} %" for key in ("with", "without")
    )
    yield f"({100 * found['teacher']:.1f} % of the test sentences, one seed)"
    yield f"labels the {found['with']['texts'] - found['without']['texts']:,} phrases"
    yield f"is right on {with_them}, without them on {without}"
    assert found["unlabelled_in_test"] == 0


def nine_tasks_page() -> Iterator[str]:
    cells = record("fine_tuning")["cells"]
    yield fine_tuning.scores(cells)
    yield fine_tuning.times(cells)
    known = ("gpt1", "bert", "elmo")
    pre_training = (f"{facts(f'{name}_wikitext2')['training']['cpu_seconds']:,.0f}" for name in known)
    yield "in {}, {} and {} CPU seconds".format(*pre_training)
    yield from verdicts_of_fine_tuning(
        {model: {t: 100 * c["mean"] for t, c in row.items()} for model, row in cells.items()}
    )


def units_page() -> Iterator[str]:
    found = record("units")
    rows = found["units"]
    assert list(rows) == list(units.UNITS)
    assert all(row["step_cpu_seconds"] <= found["seconds"] == 200 for row in rows.values())
    for unit, row in rows.items():
        shares = (f"{100 * row[name]:.1f}" for name in ("clean", "typos"))
        yield table_row(
            unit, f"{row['tokens']:.0f}", f"{row['parameters'] / 1000:,.0f}", f"{row['epochs']:.0f}", *shares
        )
    clean, typed = ({unit: 100 * row[name] for unit, row in rows.items()} for name in ("clean", "typos"))
    yield from verdicts_of_units(clean, typed)
    compared = found["boundaries"]
    shares = [100 * compared[name] for name in ("equal_words", "precision", "recall")]
    yield f"of {compared['words']:,} words, {shares[0]:.0f} % are cut alike"
    yield f"precision is {shares[1]:.0f} %, the recall {shares[2]:.0f} %"
    yield f"{compared['distinct_morphs']:,} morphs and {compared['unigram_pieces']:,} pieces"


def verdicts_of_units(clean: Mapping[str, float], typed: Mapping[str, float]) -> Iterator[str]:
    majority = 100 * record("fine_tuning")["cells"]["majority class"]["SST, three-way"]["mean"]
    assert round(clean["pixels"], 1) == round(majority, 1)
    yield f"**Pixels learned nothing**: {clean['pixels']:.1f} % is the share of the most frequent class"
    lost = {unit: clean[unit] - typed[unit] for unit in clean}
    most = sorted(lost, key=lost.__getitem__)[-2:]
    assert most == ["unigram pieces", "morphs (Morfessor)"]
    yield f"hurt morphs and pieces most, by {lost[most[1]]:.1f} and {lost[most[0]]:.1f} points"
    yield f"Letters and bytes lose {lost['letters']:.1f} and {lost['bytes']:.1f} points"


BELOW_ELMO = ("majority class", "ELMo, of WikiText-2")


def verdicts_of_fine_tuning(score: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    bag, lstm, minilm, fixed = (score[name] for name in ("bag of words", "BiLSTM", "MiniLM", "MiniLM, its features"))
    bert, gpt1, majority = (score[name] for name in ("BERT, of WikiText-2", "GPT-1, of WikiText-2", "majority class"))
    from_nothing = [score[name] for name in ("padded perceptron", "Elman", "LSTM", "BiLSTM")]
    sentiment = ("SST, three-way", "SST-2")
    assert all(round(other[title], 1) <= round(bag[title], 1) for other in from_nothing for title in sentiment)
    assert all(other[title] < bag[title] for other in (gpt1, bert) for title in sentiment)
    yield "{:.1f} % of three-way SST and {:.1f} % of SST-2".format(*(bag[title] for title in sentiment))
    yield f"the BiLSTM tags {lstm['EWT']:.1f} % of EWT's words"
    yield f"each word's most frequent tag is right for {majority['EWT']:.1f} %"
    assert bert["EWT"] < min(majority["EWT"], lstm["EWT"])
    yield f"below the most frequent tag ({bert['EWT']:.1f} %)"
    elmo = score["ELMo, of WikiText-2"]
    assert bert["EWT"] < elmo["EWT"] < lstm["EWT"]
    yield f"ELMo tags {elmo['EWT']:.1f} % of EWT's words and finds names with F1 {elmo['WNUT-17']:.1f}, BERT"
    yield f"{bert['EWT']:.1f} and {bert['WNUT-17']:.1f}. ELMo reads the letters"
    assert all(elmo["SST, three-way"] < row["SST, three-way"] for name, row in score.items() if name not in BELOW_ELMO)
    yield f"hardly learns sentiment: {elmo['SST, three-way']:.1f} %"
    others = [row for name, row in score.items() if name != "MiniLM"]
    assert all(minilm[title] > row[title] for row in others for title in row)
    best = {title: max(row.get(title, 0.0) for row in others) for title in minilm}
    yield f"{minilm['SST, three-way']:.1f} % of three-way SST"
    yield f"STS-B {minilm['STS-B']:.1f} against at most {best['STS-B']:.1f} of all others"
    yield f"names in WNUT-17 {minilm['WNUT-17']:.1f} against {best['WNUT-17']:.1f}"
    gains = [minilm[title] - fixed[title] for title in ("SST, three-way", "RTE")]
    yield "three-way SST by {:.1f} points and RTE by {:.1f}".format(*gains)
    error = 100 * (0.5 * 0.5 / 277) ** 0.5
    yield f"one standard error is {error:.0f} points: only MiniLM ({minilm['RTE']:.1f} %)"
    assert [name for name, row in score.items() if abs(row.get("RTE", 52.7) - majority["RTE"]) > error] == ["MiniLM"]


# The names in the record of translators, and in the tables.
TRANSLATORS = {
    "none": "no attention",
    "reversed": "no attention, source reversed",
    "additive": "additive attention",
    "dot": "dot attention",
    "transformer": "Transformer",
    "nguyen": "Nguyen's attention",
}


def translation_page() -> Iterator[str]:
    results = record("translation")
    yield from (f"{name} {results['signatures'][key]}" for key, name in (("bleu", "BLEU"), ("chrf", "chrF")))
    sizes = [model["parameters"] / 1e6 for model in results["models"].values()]
    yield f"All have {min(sizes):.1f} to {max(sizes):.1f} million parameters"
    for key, title in TRANSLATORS.items():
        model = results["models"][key]
        tests = [model[test] for test in translation.TESTS]
        scores = (f"{test[measure]:.1f}" for test in tests for measure in ("bleu", "chrf"))
        seconds = sum(test["cpu_seconds"] for test in tests)
        yield table_row(title, f"{model['training']['step_cpu_seconds'] / 60:.0f}", *scores, f"{seconds:.0f}")
    lengths = results["lengths"]
    yield table_row("", *lengths)
    yield table_row("sentences", *(found["sentences"] for found in lengths.values()))
    for key, title in TRANSLATORS.items():
        yield table_row(title, *(f"{found['models'][key]['bleu']:.1f}" for found in lengths.values()))
    yield from verdicts_on_translation(results)
    french = record("translation_fr_en")["models"]["transformer"]
    yield f"after {french['training']['step_cpu_seconds'] / 60:.0f} CPU minutes, has BLEU"
    for test, name in zip(translation.TESTS, ("2016", "2017"), strict=True):
        yield f"{french[test]['bleu']:.1f} and chrF {french[test]['chrf']:.1f} on test {name}"


def verdicts_on_translation(results: Mapping[str, Any]) -> Iterator[str]:
    minutes_of_each = [model["training"]["step_cpu_seconds"] / 60 for model in results["models"].values()]
    yield f"{min(minutes_of_each):.0f} to {max(minutes_of_each):.0f} CPU minutes of one core in bf16"
    pairs, lengths = results["compared"]["all"], results["lengths"]
    yield f"reversing the source adds {pairs['reversed against none']['bleu']:.1f} BLEU"
    yield f"Compared with one vector, additive attention adds {pairs['additive against none']['bleu']:.1f}"
    yield f"is {-pairs['nguyen against transformer']['bleu']:.1f} BLEU below the paper's"
    real = ("reversed against none", "additive against none", "transformer against dot", "nguyen against transformer")
    assert max(pairs[pair]["p"] for pair in real) < 0.01
    assert min(pairs[pair]["p"] for pair in ("dot against additive", "nguyen against reversed")) > 0.05
    shortest, longest = (lengths[name]["models"] for name in ("1-8", "21+"))
    for name in ("none", "additive", "dot", "transformer"):
        yield f"from {shortest[name]['bleu']:.1f} to {longest[name]['bleu']:.1f}"
    assert longest["transformer"]["bleu"] < longest["dot"]["bleu"]
    yield f"at the {lengths['21+']['sentences']} longest sentences"


def feed_forward_speeds(precision: str, name: str) -> str:
    speeds, ratios = (large("feed-forward, order 5, 512 units", precision)[key] for key in SPEED_AND_RATIO)
    rest = " | ".join(f"{speeds[kind]:,} ({ratios[kind]:.2f})" for kind in ("adaptive", "noise_contrastive"))
    return f"| feed-forward, order 5, 512 units, {name} | {speeds['softmax']:,} | {rest} |"


SPEED_AND_RATIO = ("tokens per CPU second", "times softmax")


def large_vocabulary_curves() -> Iterator[str]:
    for model, key in (
        ("LSTM, 2 × 200", "perplexity, LSTM, 2 x 200, bf16 autocast"),
        ("feed-forward, order 5", "perplexity, feed-forward, order 5, 200 units, bf16 autocast"),
    ):
        cells = []
        for kind, curve in record("large_vocabulary")[key].items():
            points = curve["points"]
            shown = points[-1:] if kind == "softmax" else [points[0], points[-1]]
            cell = ", ".join(f"{point['perplexity']:.1f} after {point['cpu_s']:.0f} s" for point in shown)
            if kind != "softmax":
                cell += f": {times_sooner(curve)}"
            cells.append(cell)
        yield table_row(model, *cells)


def times_sooner(curve: Mapping[str, Any]) -> str:
    """How much sooner a curve is where the full softmax ends; its first evaluation may lie beyond that already."""
    at_least = "at least " if curve["cpu_s_to_the_last_of_softmax"] == curve["points"][0]["cpu_s"] else ""
    return f"{at_least}{curve['times_faster']:.1f} times"


def bert_page() -> Iterator[str]:
    found = facts("bert_wikitext2")
    yield (
        f"After {found['training']['cpu_seconds'] / 60:.0f} CPU minutes on WikiText-2 a small one predicts "
        f"{100 * masked('accuracy'):.1f} % of the masked pieces correctly, with a perplexity of "
        f"{masked('perplexity'):.1f}, and {100 * found['results']['next_sentence_accuracy']:.1f} % of the next "
        "sentences"
    )
    ratios = [masked_lm(precision) for precision in ("float32", "bf16 autocast")]
    yield f"{ratios[0]} times as fast as transformers' in float32, {ratios[1]} times in bf16"
    parity = record("minilm_parity")
    difference = f"{parity['largest_difference']:.1e}"
    yield f"for {parity['steps']} steps, MiniLM's losses by both classes differ by {difference} at most"


def vit_page() -> Iterator[str]:
    seconds = facts("vit_digits")["training"]["cpu_seconds"]
    yield f"names {accuracy('vit_digits')} of the test images after {seconds:.0f} CPU seconds of learning"
    results = record("vit_accuracy")
    for data, title in (("digits", "digits, 8 x 8 pixels"), ("fashion_mnist", "Fashion-MNIST, 28 x 28")):
        rows = [results[f"{data}, {start}"] for start in VIT_STARTS]
        seconds = rows[0]["CPU seconds of learning"], rows[1]["pre-training: CPU seconds of learning"]
        accuracies = [f"{100 * row['test accuracy']:.1f}" for row in rows]
        yield table_row(title, f"{rows[0]['images']:,}", *accuracies, "{:,} ({:,})".format(*seconds))
    transfer = record("vit_transfer")
    yield "{:,} images of five classes".format(transfer["images of pre-training"])
    yield "from {:,} images. Percent of {:,} test images, three seeds".format(
        transfer["images to learn from"], transfer["test images"]
    )
    yield "{} without pre-training, {} after classes, {} after pixels, {} after mean colors".format(
        *map(with_error, vit_transfers())
    )
    on_classes, pixels, colors = (results[f"fashion_mnist, {way}"]["test accuracy"] for way in VIT_STARTS)
    assert on_classes < pixels < colors < 0.85
    yield (
        f"{vit_speed('bf16 autocast')} times as fast as transformers' in bf16, and {vit_speed('float32')} times in "
        f"float32 ({vit_speed('float32, freed memory kept')} where the process keeps the memory that it frees)"
    )
    masked = [vit_speed(f"masked images, {kind}") for kind in ("bf16 autocast", "float32")]
    yield "of masked images {} and {} times".format(*masked)


def image_captioning_page() -> Iterator[str]:
    found = facts(CAPTIONS)
    results, share = found["results"], lambda key: f"{100 * found['results'][key]:.1f}"
    yield f"On Fashion-MNIST {share('exact_match')} % of them"
    yield f"after {found['training']['cpu_seconds'] / 60:.0f} CPU minutes of learning"
    yield f"{share('chance_exact_match')} % would be by chance"
    yield f"the {results['images']:,} test images"
    for title, key in {
        "whole caption": "exact_match",
        "class": "class_match",
        "brightness, of three": "brightness_match",
        "half, of two": "half_match",
        "whole caption, of another image": "shuffled_exact_match",
        "whole caption, expected by chance": "chance_exact_match",
    }.items():
        yield table_row(title, share(key))
    assert results["num_beams"] == 1
    yield f"{results['attention_on_half']:.2f} of the weight on patches is on that half"


CAPTIONS = "image_captioning_fashion_mnist"
VIT_STARTS = ("classes alone", "pixels", "mean_color")


def vit_transfers() -> list[Any]:
    return [record("vit_transfer")[start] for start in ("nothing", "classes", "pixels", "mean_color")]


def vit_speed(key: str) -> str:
    return f"{record('vit_speed')[key]['transformers / ours']:.2f}"


def word2vec_page() -> Iterator[str]:
    yield f"trains on WikiText-2 in {facts('word2vec_wikitext2')['training']['cpu_seconds']:.0f} CPU seconds"
    results = record("word2vec")
    for architecture, title in (("skip_gram", "skip-gram"), ("cbow", "CBOW")):
        for name, run in results[architecture]["runs"].items():
            yield table_row(
                f"{title}, {name.partition(',')[0]}{' in float32' * name.endswith('float32')}",
                f"{run['epochs']:g}",
                f"{run['cpu_seconds']:.0f}",
                f"{run['words_per_cpu_second'] / 1000:.0f}",
                f"{run['held_out_loss']:.3f}",
                *(f"{run[test]:.2f}" for test in word2vec.PAIRS),
                f"{100 * run['analogies']:.1f} %",
            )
    sooner = [results[name]["ratios"]["seconds to the same loss"] for name in ("skip_gram", "cbow")]
    yield "Skip-gram reaches gensim's held-out loss {:.2f} times as fast as gensim, CBOW {:.2f} times".format(*sooner)
    yield f"runs at {results['cbow']['ratios']['words_per_cpu_second']:.2f} times gensim's speed"
    for reader, cells in record("word_vector_inputs").items():
        yield table_row(reader, *map(with_error, cells["rows"].values()))
    costs = [cells["over one-hot"]["vectors"] for cells in record("word_vector_inputs").values()]
    yield "costs the bag of words {:.1f} and the LSTM {:.1f} points".format(*(-cost["points"] for cost in costs))
    assert max(cost["p"] for cost in costs) < 0.01


def elmo_page() -> Iterator[str]:
    result, training = facts("elmo_wikitext2")["results"], facts("elmo_wikitext2")["training"]
    yield f"{training['cpu_seconds'] / 60:.0f} CPU minutes: validation perplexity {result['perplexity']:.1f}"
    for data, title in (("ewt", "parts of speech, EWT (accuracy)"), ("wnut17", "names, WNUT-17 (F1)")):
        without, with_it = (record("elmo")[f"{data}, {way}"] for way in ("without", "with"))
        (run,) = with_it["runs"]
        mix = ", ".join(f"{share:.2f}" for share in run["s"])
        yield table_row(title, percent(without), percent(with_it), mix, f"{run['gamma']:.2f}")
        assert with_it["mean"] > without["mean"]
        assert run["s"][1] == max(run["s"])
    own_vectors = record("fine_tuning")["cells"]["BiLSTM"]["EWT"]
    yield f"tags {percent(own_vectors)} % of EWT's words without any"


def bag_of_words_page() -> Iterator[str]:
    yield (
        f"{accuracy('bag_of_words_sst3')} of three-way SST's test sentences and "
        f"{accuracy('bag_of_words_sst2')} of SST-2's "
        "validation set"
    )


def parameters(kind: str, length: int, **fields: Any) -> int:
    """Of a network of padded_mlp with 64 units and three classes, without its word vectors."""
    config_class, model_class = {
        "padded": (PaddedMlpConfig, PaddedMlpForSequenceClassification),
        "layer per input": (LayerPerInputConfig, LayerPerInputForSequenceClassification),
    }[kind]
    with torch.device("meta"):
        model = model_class(config_class(max_position_embeddings=length, num_labels=3, **fields))
    table = 0 if model.config.embedding_size is None else model.get_input_embeddings().weight.numel()
    return model.num_parameters() - table


def padded_mlp_page() -> Iterator[str]:
    recipes = ("padded_mlp_sst3", "padded_mlp_layer_per_input_sst3")
    seconds = " and ".join(f"{facts(recipe)['training']['cpu_seconds']:.0f}" for recipe in recipes)
    yield (
        f"After {seconds} CPU seconds of learning they are right on {accuracy(recipes[0])} and {accuracy(recipes[1])} "
        "of three-way SST's"
    )
    yield f"is right on {accuracy('bag_of_words_sst3')}"
    for length in (10, 60, 500):
        sizes = (parameters(kind, length, embedding_size=64) for kind in ("padded", "layer per input"))
        yield table_row(length, *(f"{size:,}" for size in sizes))
    layers = [parameters("layer per input", length, embedding_size=64) for length in (1, 2)]
    yield f"has the {layers[1] - layers[0]:,} of one layer"
    vocabulary = facts(recipes[0])["vocabulary"]["size"]
    yield (
        f"with the {vocabulary:,} tokens of the recipes a padded perceptron of 64 units for 60 words has "
        f"{parameters('padded', 60, vocab_size=vocabulary):,} parameters"
    )


def ngram_page() -> Iterator[str]:
    fitted = ngram(5, "modified_kneser_ney", "fit_cpu_s")
    yield f"two million words take {fitted} CPU seconds"
    yield (
        f"a test perplexity of {ngram(5, 'modified_kneser_ney')} on WikiText-2, where the LSTM has "
        f"{ppl('recurrent')} after {minutes('recurrent')}"
    )


def smoothing_page() -> Iterator[str]:
    found = {}
    for name in ("add_alpha", "jelinek_mercer", "absolute_discounting", "good_turing", "katz", "kneser_ney"):
        found[name] = [
            row["test_word_perplexity"]
            for row in record("ngram_wikitext2")["rows"]
            if row["smoothing"] == name and row.get("alpha") != 1
        ]
        title = f"`{name}`, the best of four" if name == "add_alpha" else f"`{name}`"
        yield table_row(title, *(f"{perplexity:,.1f}" for perplexity in found[name]))
    yield table_row("`modified_kneser_ney`", *(ngram(order, "modified_kneser_ney") for order in (2, 3, 4, 5)))
    assert all(min(found[name]) == found[name][1] for name in ("absolute_discounting", "good_turing", "katz"))
    assert all(found[name] == sorted(found[name], reverse=True) for name in ("kneser_ney", "jelinek_mercer"))
    plain, modified, sampled = (f"{row['perplexity']:.1f}" for row in record("class_ngrams")["pitman_yor"]["rows"])
    yield f"a test perplexity of {sampled}, modified Kneser-Ney {modified} and Kneser-Ney {plain}"


def large_corpora_page() -> Iterator[str]:
    found = record("corpora_out_of_core")
    assert found["memory"] == "2GB"
    assert found["equality"]["bit_for_bit"]

    def cells(run: Mapping[str, Any]) -> list[str]:
        return [f"{run['cpu_s']:.0f}", *(f"{run[key]:,.0f}" if key in run else "" for key in ("peak_mib", "disk_mb"))]

    equality, middle, large = (found[name] for name in ("equality", "middle", "large"))
    millions = [f"{run['text']['tokens'] / 1e6:.1f} million tokens" for run in (equality, middle, large)]
    yield table_row(f"{millions[0]}, order 5", "in memory", *cells(equality["in_memory"]))
    yield table_row("", "out of core, the same tables bit for bit", *cells(equality["past"]))
    yield table_row(f"{millions[1]}, order 3", "in memory", *cells(middle["in_memory"]))
    yield table_row("", "out of core", *cells(middle["past"]))
    yield table_row("", "`lmplz -S`, as much memory", *cells(middle["lmplz"]))
    in_memory, past = (f"{middle['ratios'][kind]:.2f}" for kind in ("in_memory", "past"))
    yield f"all n-grams of order 3 are estimated {in_memory} times as fast as by `lmplz` in memory, {past} out of core"
    yield table_row(f"{millions[2]}, order 3, `prune=[0, 1, 1]`", "out of core", *cells(large["past"]))
    yield (table_row("", "`lmplz -S`, as much memory", *cells(large["lmplz"])))
    both = large["comparison"]
    assert both["ours"] == both["lmplz"] == both["in_both"]
    yield f"both keep {both['ours'][1]:,} 2-grams and {both['ours'][2]:,} 3-grams, the same ones"
    yield f"differ by at most {max(both['largest']):.0e} (log10)"


def filtering_page() -> Iterator[str]:
    found = record("perplexity_filter")
    assert (found["keep"], found["order"]) == (0.3, 5)
    names = {"words": "words", "pieces": f"{perplexity_filter.PIECES:,} pieces"}
    yield f"filters {found['texts_of_a_kind']:,} test lines"
    for unit, name in names.items():
        for measure, title in (("perplexity", "perplexity"), ("bits_per_byte", "bits per byte")):
            row = found[unit][measure]
            yield table_row(name, title, *(f"{100 * share:.0f} %" for share in row["kept"].values()))
            yield table_row(name, title, *(f"{100 * share:.0f} %" for share in row["kept_by_length"].values()))
        speed = found[unit]
        assert max(speed["largest_differences"].values()) < 1e-5
        rates = [f"{speed['tokens_per_cpu_s'][one] / 1e6:.2f}" for one in ("kenlm", "call", "verb")]
        yield table_row(name, *rates, *(f"{speed['ratios'][one]:.2f}" for one in ("call", "verb")))
    medians = found["words"]["perplexity"]["median_by_length"]
    yield f"the median perplexity of lines of 1 to 5 words is {medians['1 to 5']:.0f}"
    yield f"of those of more than 100 words {medians['more than 100']:.0f}"


def ngram_files_page() -> Iterator[str]:
    titles = {"float32": "float32", "16 bits": "16 bits", "8 bits": "8 bits"}
    titles |= {"kenlm trie": "KenLM's trie", "kenlm trie, 8 bits": "KenLM's trie, 8 bits"}
    for name, row in record("ngram_quantisation")["models"].items():
        distance = row.get("largest_deviation_of_sums")
        cells = f"{row['mib']:.1f}", f"{row['perplexity']:.2f}", "" if distance is None else f"{distance:.3f}"
        yield table_row(titles[name], *cells)
    loaded = record("ngram_loading")["models"]
    ours, table, trie = (f"{1000 * loaded[name]['cpu_s']:.0f}" for name in ("ours", "kenlm probing", "kenlm trie"))
    yield f"in {ours} CPU milliseconds (KenLM's hash table {table}, its trie {trie})"
    own = [loaded[name]["loaded_mib_without_a_file"] for name in ("ours", "ours, 8 bits")]
    yield f"needs {own[0]:.1f} MiB that other processes"
    yield f"leaves {own[1]:.0f} MiB of freed memory"
    for name, row in record("kenlm_files")["files"].items():
        sizes = f"{row['file_mib']:.1f}", f"{row['load_cpu_s']:.1f}", f"{row['peak_mib']:.0f}", f"{row['kept_mib']:.0f}"
        yield table_row(name, *sizes, f"{row['speed_ratio']:.2f}", f"{row['largest_difference']:.0e}")


def word_classes_page() -> Iterator[str]:
    found = record("class_ngrams")
    yield (
        f"with {found['class_based']['classes']} classes, found in "
        f"{found['class_based']['classes_cpu_s']:.0f} CPU seconds"
    )
    three, five = (
        [f"{row[kind]:.1f}" for kind in ("words", "classes", "interpolated")] for row in found["class_based"]["rows"]
    )
    yield "{} of words and {} of classes at order 3 becomes {} of both".format(*three)
    yield "at order 5, {} and {} become {}".format(*five)


def feed_forward_page() -> Iterator[str]:
    name = "feed_forward"
    counted = ngram(5, "modified_kneser_ney")
    yield f"test perplexity {ppl(name)} on WikiText-2 after {minutes(name)} CPU minutes (the 5-gram: {counted})"
    times = []
    for precision in ("float32", "bf16 autocast"):
        ratios = large("feed-forward, order 5, 512 units", precision)["times softmax"]
        times += [ratios["adaptive"], ratios["noise_contrastive"]]
    curves = record("large_vocabulary")["perplexity, feed-forward, order 5, 200 units, bf16 autocast"]
    sooner = min(curves[kind]["times_faster"] for kind in ("adaptive", "noise_contrastive"))
    yield (
        f"a training step is {min(times):.2f} to {max(times):.2f} times as fast as with the full softmax, and the full "
        f"softmax's perplexity is reached at least {sooner:.1f} times sooner"
    )


def recurrent_page() -> Iterator[str]:
    counted = ngram(5, "modified_kneser_ney")
    after = f"after {minutes('recurrent')} CPU minutes"
    yield f"test perplexity {ppl('recurrent')} on WikiText-2 {after} (the 5-gram: {counted})"


def large_vocabularies_page() -> Iterator[str]:
    kinds, precisions = ("adaptive", "noise_contrastive"), ("float32", "bf16 autocast")
    times = [against_torch(kind, precision) for kind in kinds for precision in precisions]
    curves = record("large_vocabulary")["perplexity, LSTM, 2 x 200, bf16 autocast"]
    there = [f"{curves[kind]['cpu_s_to_the_last_of_softmax']:.0f}" for kind in kinds]
    yield (
        f"is {min(times):.2f} to {max(times):.2f} times as fast as torch's LSTM with a full softmax. With the adaptive "
        f"softmax, ours has {against_torch_adaptive('float32')} times the speed of torch's LSTM with torch's adaptive "
        f"softmax in float32, {against_torch_adaptive('bf16 autocast')} in bf16"
    )
    yield (
        f"takes {curves['softmax']['points'][-1]['cpu_s']:.0f} CPU seconds to its last perplexity. The adaptive "
        f"softmax reaches it in {there[0]}, the noise-contrastive layer in {there[1]}"
    )


def recurrent_tasks_page() -> Iterator[str]:
    rows = record("sentence_classifiers")["rows"]
    titles = ("LSTM, maximum", "LSTM, last state", "bag of words", "recurrent_sst3_from_lm")
    best, last, bag, from_lm = (f"{100 * rows[title]['mean']:.1f} %" for title in titles)
    yield f"the maximum is right on {best} of the test sentences and the last state on {last}"
    yield f"The bag of words, which ignores word order, is better than both, with {bag}"
    yield f"the classifier of the recipe is right on {from_lm} of SST's test sentences, less than from scratch"
    yield f"it tags {accuracy('recurrent_ewt')} of the English Web Treebank's test words"
    yield f"(F1 {100 * facts('recurrent_wnut17')['results']['f1']:.1f} %"


def self_attention_page() -> Iterator[str]:
    name = "self_attention"
    yield (
        f"test perplexity {ppl(name)} on WikiText-2 after {minutes(name)} CPU minutes, as good as the LSTM's "
        f"{ppl('recurrent')}"
    )
    assert 2 * float(epochs(name)) == float(epochs("recurrent")), "half of its reading"
    loss, without = (float(window(kind, 8)) / float(window(kind, 1)) - 1 for kind in ("relative", "none"))
    assert abs(float(window("alibi", 8)) / float(window("alibi", 1)) - 1) < 0.001
    yield f"ALiBi stays level, T5's biases lose {100 * loss:.0f} % of perplexity and no positions {100 * without:.0f} %"
    losses = {kind: sweep("pre", kind) for kind in ("alibi", "relative", "none", "learned", "sinusoidal")}
    assert sorted(losses.values(), key=float) == list(losses.values())
    yield (
        f"is {losses['none']}: better than sinusoids ({losses['sinusoidal']}) and trained vectors "
        f"({losses['learned']}), worse than relative positions ({losses['relative']}) and ALiBi ({losses['alibi']})"
    )


def transformer_xl_page() -> Iterator[str]:
    name, measured = "transformer_xl", record("transformer_xl")
    assert (measured["segment"], measured["trained_memory"], epochs(name)) == (64, 64, "1.5")
    rows, window = measured["perplexity"], measured["sliding_window"]
    assert f"{rows['64']['perplexity']:.1f}" == ppl(name)
    yield (
        f"Test perplexity {ppl(name)} on WikiText-2 after {minutes(name)} CPU minutes, "
        f"{rows['0']['perplexity']:.1f} without the memory; self-attention's is {ppl('self_attention')}"
    )
    found = {memory: row["perplexity"] for memory, row in rows.items()}
    assert found["0"] - found["16"] > 5 * (found["16"] - found["64"]) > 0, "most of the gain is in the last 16 words"
    assert found["64"] < found["256"] < found["16"]
    for memory, row in rows.items():
        yield table_row(memory, f"{row['perplexity']:.1f}", f"{row['cpu_seconds_per_1000']:.2f}")
    yield (
        f"takes {window['cpu_seconds_per_1000']:.1f} CPU seconds for 1,000 words, "
        f"{window['times_slower']:.0f} times as many as segments after a memory of 256"
    )
    yield f"perplexity {window['perplexity']:.1f}, and the segments have {window['segments_perplexity']:.1f}"
    ratios = [measured["bf16 autocast"][f"self_attention / {way}"] for way in ("no memory", "memory")]
    yield f"runs at {ratios[0]:.2f} times the speed of `self_attention`'s, with a full memory of 128 at {ratios[1]:.2f}"


def gpt1_page() -> Iterator[str]:
    yield f"Trained from scratch for {minutes('gpt1')} CPU minutes on WikiText-2"
    yield f"Three-way SST: {accuracy('gpt1_sst3')} of the test sentences"
    yield f"the [bag of words](../bag_of_words/README.md) has {accuracy('bag_of_words_sst3')}"
    yield f"a test perplexity of {ppl('gpt1')} per word (in byte pairs)"


def bleu(recipe: str) -> str:
    return f"{facts(recipe)['results']['bleu']:.1f}"


def training_minutes(recipe: str) -> str:
    return f"{facts(recipe)['training']['cpu_seconds'] / 60:.0f}"


def transformer_page() -> Iterator[str]:
    name = "transformer_multi30k"
    yield f"it has BLEU {bleu(name)} after {training_minutes(name)} CPU minutes of one core"
    yield f"than with the paper's attention: BLEU {bleu(f'{name}_nguyen')} on Multi30k"
    assert float(bleu(f"{name}_nguyen")) < float(bleu(name)) - 10


def text_to_text() -> Iterator[str]:
    spans, task = "transformer_span_wikitext2", "transformer_span_sst2"
    ours = facts(spans)["results"]["span_perplexity"]
    yield (
        f"After {training_minutes(spans)} CPU minutes on WikiText-2 the perplexity of the tokens left out is "
        f"{ours:.1f} (validation; BERT's of masked pieces is {masked('perplexity'):.1f}). "
        f"Fine-tuned for {training_minutes(task)} more"
    )
    assert facts(task)["results"]["no_class"] == 0, "all outputs are names of classes"
    yield f"and {accuracy(task)} of them the right one"
    others = record("fine_tuning")["cells"]
    bert, words = (100 * others[name]["SST-2"]["mean"] for name in ("BERT, of WikiText-2", "bag of words"))
    assert 100 * facts(task)["results"]["accuracy"] < bert < words
    yield f"BERT, pre-trained on WikiText-2 too, {bert:.1f} %"
    yield f"with no pre-training at all, {words:.1f} %"


RECURRENT_TRANSLATORS = [f"recurrent_seq2seq_multi30k_{kind}" for kind in ("none", "reversed", "additive", "dot")]


def recurrent_seq2seq_page() -> Iterator[str]:
    one, turned, additive, dot = map(bleu, RECURRENT_TRANSLATORS)
    minutes_of_each = [int(training_minutes(name)) for name in RECURRENT_TRANSLATORS]
    yield (
        f"has BLEU {one} with one vector, {turned} with the source reversed, {additive} with additive and {dot} "
        f"with dot attention, after {min(minutes_of_each)} to {max(minutes_of_each)} CPU minutes of one core"
    )


def seeing_page() -> Iterator[str]:
    """The other figures are outputs of commands, in blocks of code."""
    models = record("gradient_flow")["models"]
    recurrent = ("RNN", "LSTM", "GRU")
    assert all(models[name]["untrained"]["step"]["median"] < 0.6 for name in recurrent)
    assert all(models[name]["untrained"]["norms"]["10"] < 0.03 for name in recurrent)
    far, trained = [models[name]["trained"]["norms"]["58"] for name in recurrent], models["GRU"]["trained"]["norms"]
    assert far == sorted(far)
    assert trained["58"] > 0.5 * trained["10"]
    attention = models["self-attention"]["untrained"]["norms"]
    assert attention["58"] > attention["1"] / 58
    for name, found in models.items():
        for state in ("untrained", "trained"):
            norms = found[state]["norms"]
            step = found[state].get("step")
            singular = f"{step['median']:.2f}, {step['largest']:.2f}" if step else ""
            yield table_row(f"{name}, {state}", *(f"{norms[place]:.0e}" for place in GRADIENT_DISTANCES), singular)

    yield from gradients_of_the_claim(models)
    yield from depth_table()


def gradients_of_the_claim(models: Any) -> Iterator[str]:
    """Yield the passages that compare the table with the record of a claim, both as powers of ten."""
    path = ROOT / "hf_lecture_models" / "claims" / "records" / "vanishing_gradients.json"
    cases = json.loads(path.read_text(encoding="utf-8"))["results"]["cases"]
    (before_rnn, before_lstm), (rnn, lstm) = (
        [sorted(cases[case]["arms"][arm]["means"]) for arm in ("plain network", "LSTM")]
        for case in ("random weights", "trained weights")
    )
    of_table = {
        (name, state): math.log10(models[name][state]["norms"]["40"] / models[name][state]["norms"]["0"])
        for name in ("RNN", "LSTM")
        for state in ("untrained", "trained")
    }
    lines = find_claim("vanishing_gradients").experiment.settings["lines"]
    yield f"three seeds, and {lines:,} paragraphs without blank lines"
    yield f"RNN keeps 10^{rnn[-1]:.1f} to 10^{rnn[0]:.1f} of"
    yield f"LSTM 10^{lstm[-1]:.1f} to 10^{lstm[0]:.1f}; in the"
    yield f"table it is 10^{of_table['RNN', 'trained']:.1f} and 10^{of_table['LSTM', 'trained']:.1f}."
    yield f"10^{of_table['RNN', 'untrained']:.1f} for the RNN and 10^{of_table['LSTM', 'untrained']:.1f} for the LSTM"
    assert rnn[0] > lstm[-1]
    assert of_table["RNN", "trained"] < of_table["LSTM", "trained"]
    assert before_rnn == pytest.approx([of_table["RNN", "untrained"]] * 3, abs=0.5)
    assert before_lstm == pytest.approx([of_table["LSTM", "untrained"]] * 3, abs=0.5)


def depth_table() -> Iterator[str]:
    results = record("depth_gradients")
    rows = {(row["residual"], row["norm"]): row for row in results["variants"]}
    yield f"these texts' words alone give {results['loss of frequencies']:.2f}"
    yield f"the loss after {results['steps']} steps on eight texts"
    for variant, name in STACKS.items():
        row, last = rows[variant], rows[variant]["trained"]["last loss"]
        ratios = (f"{row['Glorot'][depth]['weights']:.2g}" for depth in ("2", "4", "8", "12", "16", "24"))
        yield table_row(name, *ratios, "NaN" if last is None else f"{last:.2f}")
    for norm in ("pre", "post"):
        assert all(0.5 < row["weights"] < 4 for row in rows[True, norm]["Glorot"].values())
        assert all(0.3 < row["weights"] < 4 for row in rows[False, norm]["Glorot"].values())
        assert rows[False, norm]["trained"]["last loss"] > results["loss of frequencies"] - 0.01
        yield f"is {rows[False, norm]['Glorot']['24']['cosine']:.2f} after 24 layers"
    small, tiny = (rows[residual, "none"]["normal, 0.02"]["24"]["weights"] for residual in (True, False))
    yield f"(ratio {small:.1f} at 24 layers); with neither, the ratio is {tiny:.0e}"


RECALLERS = {
    "dense": "dense",
    "dense_relative": "dense, relative positions",
    "transformer_xl": "Transformer-XL",
    "local": "local",
    "random": "random",
    "hierarchical": "hierarchical",
    "linear": "linear",
    "performer": "performer",
    "hashing": "hashing",
    "low_rank": "low rank, masked",
    "lstm": "LSTM",
    "gru": "GRU",
}
BANDS = (("4", "8"), ("12", "16"), ("20", "24"), ("28", "32"))


def recall_runs(texts: str, model: str) -> list[Any]:
    return [run for run in record("recall")["runs"] if (run["texts"], run["model"]) == (texts, model)]


def rounded_percent(values: Any) -> str:
    return f"{100 * statistics.fmean(values):.0f}"


def induction_row(model: str) -> str:
    runs = recall_runs("induction", model)
    assert len(runs) == 3
    bands = [rounded_percent(run["distance"][band] for run in runs for band in own) for own in BANDS]
    steps = ", ".join(str(run["breakthrough"] or "-") for run in runs)
    seconds = statistics.fmean(run["cpu_seconds"] for run in runs)
    return table_row(
        RECALLERS[model], rounded_percent(run["accuracy"]["4"] for run in runs), *bands, steps, f"{seconds:.0f}"
    )


def other_recall_row(model: str) -> str:
    (recall,), (copying,) = (recall_runs(texts, model) for texts in ("associative_recall", "copying"))
    lists = recall_runs("list_operations", model)
    return table_row(
        RECALLERS[model],
        *(rounded_percent([recall["accuracy"][pairs]]) for pairs in ("4", "8")),
        recall["breakthrough"] or "-",
        rounded_percent([copying["accuracy"]["4"]]),
        copying["breakthrough"] or "-",
        rounded_percent([lists[0]["accuracy"]["4"]]) if lists else "-",
    )


def recall_page() -> Iterator[str]:
    yield from map(induction_row, RECALLERS)
    yield from map(other_recall_row, RECALLERS)
    texts = record("recall")["texts"]
    yield f"{texts['induction']['max_steps']} steps of 64 texts of 32 words"
    yield f"Recall: {texts['associative_recall']['max_steps']:,} steps on texts of 32 words"
    yield f"Lists: {texts['list_operations']['max_steps']} steps on lists of depth 3"
    (majority,) = {run["majority"] for run in record("recall")["runs"] if "majority" in run}
    yield f"The most frequent value is right in {100 * majority:.0f} %"
    (remembers,) = recall_runs("associative_recall", "transformer_xl")
    yield table_row(
        "right answers, 4 and 8 pairs", *(rounded_percent([value]) for value in remembers["segments"].values())
    )
    assert list(remembers["segments"]) == ["0", "8", "16", "32"]
    not_yet_asked = [100 * statistics.fmean(1 / left for left in range(1, pairs + 1)) for pairs in (4, 8)]
    yield f"is right in {not_yet_asked[0]:.0f} % and {not_yet_asked[1]:.0f} %"
    for model in ("dense", "gru"):
        (run,) = recall_runs("associative_recall", model)
        assert all(
            abs(100 * run["accuracy"][pairs] - share) < 10 for pairs, share in zip("48", not_yet_asked, strict=True)
        )
    far = {name: induction_row(name).split(" | ")[5] for name in ("dense", "lstm", "local")}
    yield f"{far['dense']} % of the answers are right at a distance of 25 words and more, of the LSTM's {far['lstm']} %"
    assert int(far["local"]) < 5


COST_LENGTHS = ("256", "1024", "4096", "16384")


def cost_row(part: str, name: str) -> str:
    found = record("attention_cost")[part]
    row, summary = found["rows"][name], found["summary"][name]
    cells = [row.get(length) for length in COST_LENGTHS]
    shown = ["-" if one is None else f"{one['seconds']:.2g} / {one['MiB']:.3g}" for one in cells]
    slopes = " / ".join(
        "-" if summary[f"slope of {what}"] is None else f"{summary[f'slope of {what}']:.1f}"
        for what in ("seconds", "MiB")
    )
    first = summary["faster than dense, sdpa from"]
    return table_row(name, *shown, slopes, "-" if first is None else f"{first:,}")


def attention_cost_page() -> Iterator[str]:
    for part in ("training", "generation"):
        yield from (cost_row(part, name) for name in record("attention_cost")[part]["rows"])
    yield from verdicts_on_cost()
    ablated = record("efficient_ablation")
    yield f"the first {ablated['lines']} lines of WikiText-2's test text"
    for folder, name in ABLATED.items():
        values = [value for key, value in ablated["perplexity"][folder].items() if key != "attention_kind"]
        yield table_row(name, *(f"{value:,.1f}" for value in values))


def verdicts_on_cost() -> Iterator[str]:
    training, generated, sdpa = (
        record("attention_cost")["training"],
        record("attention_cost")["generation"],
        "dense, sdpa",
    )
    rows, summary = training["rows"], training["summary"]
    crossings = {name: summary[name]["faster than dense, sdpa from"] for name in (*EFFICIENT_KINDS, "LSTM")}
    slopes = [summary[name]["slope of seconds"] for name in EFFICIENT_KINDS]
    assert max(slopes) == summary["hierarchical"]["slope of seconds"] < 1.25
    assert summary[sdpa]["slope of seconds"] > 1.7
    for name in ("dense, eager", "hashing"):
        assert summary[name]["slope of MiB"] > 1.9
    assert all(rows[sdpa]["16384"]["MiB"] < rows[name]["16384"]["MiB"] for name in EFFICIENT_KINDS)
    lstm, linear, dense = (rows[name] for name in ("LSTM", "linear", sdpa))
    yield f"whose slope is {summary['hierarchical']['slope of seconds']:.1f} (T √T would be 1.5)"
    among = [crossings[name] for name in EFFICIENT_KINDS]
    yield f"between {min(among)} and {max(among):,} tokens"
    yield f"linear attention is {dense['16384']['seconds'] / linear['16384']['seconds']:.0f} times as fast as sdpa"
    yield f"takes {lstm['256']['seconds'] / dense['256']['seconds']:.1f} times as long as sdpa at 256 tokens"
    yield f"is faster from {crossings['LSTM']:,} on"
    peers = {name.split(",")[0]: own for name, own in record("attention_cost")["peer / ours, seconds"].items()}
    for name, words in (("Longformer", "transformers' Longformer"), ("Reformer", "its Reformer")):
        yield f"{words} {min(peers[name].values()):.2f} to {max(peers[name].values()):.2f}"
    assert all(ratio > 1 for length, ratio in peers["Longformer"].items() if int(length) >= 1024)
    token = {name: generated["rows"][name] for name in (sdpa, "LSTM", "hashing")}
    ratios = [token[sdpa][length]["seconds"] / token["LSTM"][length]["seconds"] for length in ("256", "16384")]
    yield f"{ratios[0]:.0f} times less than dense attention's after 256 tokens and {ratios[1]:.0f} times less after"
    yield f"{token['hashing']['16384']['seconds']:.2f} seconds at 16,384 tokens"


EFFICIENT_KINDS = ("local", "random", "hierarchical", "linear", "performer")
ABLATED = {
    "dense": "dense",
    "local": "local",
    "random": "random",
    "hierarchical": "hierarchical",
    "linear": "linear",
    "performer": "performer",
    "hashing": "hashing",
    "efficient_transformer_masked_wikitext2": "low rank, masked",
}


STACKS = {
    (True, "pre"): "residual, pre-LN",
    (True, "post"): "residual, post-LN",
    (True, "none"): "residual, no norm",
    (False, "pre"): "pre-LN alone",
    (False, "post"): "post-LN alone",
    (False, "none"): "neither",
}
GRADIENT_DISTANCES = ("0", "5", "10", "20", "40", "58")


PAGES = "hf_lecture_models/models/{}/README.md"
MODELS = sorted(path.parent.name for path in (ROOT / "hf_lecture_models" / "models").glob("*/README.md"))
POINTS_OF = {"omniglot": "Omniglot's strokes", "digits": "digits, by rows", "sunspots": "sunspots, by years"}


def point_rows() -> dict[str, list[dict[str, Any]]]:
    return record("sequence_prediction")


def point_bits() -> list[str]:
    return [f"{row['bits_per_point']:.2f}" for row in point_rows()["omniglot"]]


def graves_page() -> Iterator[str]:
    for data, rows in point_rows().items():
        for row in rows:
            kinds = {"network": "Graves' network", "independent": "independent"}
            model = kinds.get(row["model"]) or f"joint Gaussian, order {row['order']}"
            measured = [f"{row[key]:.2f}" if key in row else "-" for key in ("bits_per_point", "nats_per_point")]
            yield table_row(POINTS_OF[data], model, *measured)
        nats = [row["nats_per_point"] for row in rows]
        assert nats[-1] == min(nats)
        assert nats[0] == max(nats)
    omniglot, digits, sunspots = (rows[-1] for rows in point_rows().values())
    yield f"{omniglot['sequences']:,} characters of Omniglot, {digits['sequences']} digits"
    yield f"digits and {sunspots['points']} years"
    seconds = {name: facts(f"graves_{name}")["training"]["cpu_seconds"] for name in ("omniglot", "digits")}
    assert 7.5 <= seconds["omniglot"] / 60 < 8.5
    yield "takes eight CPU minutes for Omniglot's characters"
    yield f"and {seconds['digits']:.0f} CPU seconds for digits by rows"


PASSAGES: dict[str, Callable[[], Iterator[str]]] = {
    "README.md": readme,
    "docs/nine_tasks.md": nine_tasks_page,
    "docs/units.md": units_page,
    "docs/large_vocabularies.md": large_vocabularies_page,
    "docs/text_to_text.md": text_to_text,
    "docs/recurrent_tasks.md": recurrent_tasks_page,
    "docs/quickstart.md": quickstart_page,
    "docs/sentence_pairs.md": sentence_pairs_page,
    "docs/speed.md": speed_page,
    "docs/code.md": code_page,
    "docs/translation.md": translation_page,
    "docs/tokenizers.md": tokenizers_page,
    "docs/usage.md": usage_page,
    "docs/adaptation.md": adaptation_page,
    "docs/smoothing.md": smoothing_page,
    "docs/large_corpora.md": large_corpora_page,
    "docs/filtering.md": filtering_page,
    "docs/word_classes.md": word_classes_page,
    "docs/ngram_files.md": ngram_files_page,
    "docs/wikitext2.md": wikitext2_page,
    "docs/lecture_map.md": lecture_map,
    "docs/neighbours.md": neighbours,
    "docs/seeing.md": seeing_page,
    "docs/blimp.md": blimp_page,
    "docs/babylm.md": babylm_page,
    "docs/bias_and_privacy.md": bias_page,
    "docs/reading_times.md": reading_times_page,
    "docs/prompting.md": prompting_page,
    "docs/recall.md": recall_page,
    PAGES.format("graves"): graves_page,
    "docs/attention_cost.md": attention_cost_page,
    "benchmarks/README.md": benchmarks_page,
    PAGES.format("bag_of_words"): bag_of_words_page,
    PAGES.format("bert"): bert_page,
    PAGES.format("padded_mlp"): padded_mlp_page,
    PAGES.format("ngram"): ngram_page,
    PAGES.format("feed_forward"): feed_forward_page,
    PAGES.format("recurrent"): recurrent_page,
    PAGES.format("self_attention"): self_attention_page,
    PAGES.format("gpt1"): gpt1_page,
    PAGES.format("transformer_xl"): transformer_xl_page,
    PAGES.format("elmo"): elmo_page,
    PAGES.format("vit"): vit_page,
    PAGES.format("image_captioning"): image_captioning_page,
    PAGES.format("word2vec"): word2vec_page,
    PAGES.format("recurrent_seq2seq"): recurrent_seq2seq_page,
    PAGES.format("transformer"): transformer_page,
}

# Figures that are no measurement of ours, or whose record is the code: passage and reason.
OTHERS: dict[str, dict[str, str]] = {
    "README.md": {
        "Python 3.11 or later": "a version",
        "Apache-2.0": "a licence",
    },
    "docs/units.md": {
        "in 200 CPU seconds of training at most": "the budget, checked by units_page",
        "with a probability of 10 %": "the benchmark's constant",
        "8,544 sentences": "rows of the file",
        "in place of 26 times": "the table's",
    },
    "docs/nine_tasks.md": {
        "the first 20,000 of 67,349 training rows": "rows of the file and of GLUE's",
        "3,576 pairs to train on and its 1,725 test pairs": "rows of the files",
        "3,838 training questions of about 87,600": "questions of the file and of SQuAD",
        "the 1,190 questions of its dev set": "questions of XQuAD",
    },
    "docs/quickstart.md": {"Python 3.11.7": "the version of the record: see test_the_quickstart_names_its_python"},
    "hf_lecture_models/models/transformer_xl/README.md": {
        "| CPU seconds for 1,000 words |": "a unit",
        "for 1.5 epochs": "the recipe's, checked by transformer_xl_page",
        "up to 1,800+ times faster": "the paper's",
        "a perplexity of 18.3 for the large model, and transformers' port once gave 20.4": "published figures",
    },
    "docs/sentence_pairs.md": {
        "29,000 French captions": "lines of the file",
        "the first 5,000 captions": "benchmarks.sentence_pairs.CAPTIONS",
    },
    "docs/wikitext2.md": {
        "vocabulary 33,280 with special tokens (BPE: 8,192)": "sizes set by the recipes",
        "at most 40 CPU minutes": "a bound, checked by test_the_networks_took_at_most_forty_minutes",
        "chance is 50 %": "of two sentences",
    },
    "docs/lecture_map.md": {
        "4 times as wide inside": "the slide's expansion factor",
        "at 33,280 words": "size of the vocabulary",
    },
    "docs/neighbours.md": {
        "325,943 words, 19,296 different ones, of them 5,596 that occur once": (
            "checked by test_the_first_sixth_of_wikitext_2"
        ),
        "0.003 to 0.005 up to 9 occurrences, up to 0.01 and 0.02 in the next two bands, 0.05 in the first row": (
            "checked by test_standard_errors_of_the_neighbours"
        ),
        "at most 5 times": "the definition of rare",
        "900,350 times": "the slide's figure",
        "have 0.6 in the lower bands": "checked by test_standard_errors_of_the_neighbours",
    },
    "docs/seeing.md": {
        "singular values lie below 0.6": "a bound, checked by seeing_page",
        "standard deviation 0.02": "a setting",
        "a weight of 0.72. On average over all 72 heads it is 0.10, hardly more than 0.083": (
            "checked by test_he_attends_to_jack in tests/analysis/test_attention_maps.py"
        ),
    },
    "docs/babylm.md": {
        "the 2 million words of WikiText-2": "its size",
        "10 million (strict-small) or 100 million": "the challenge's",
        "after 10 million words": "the challenge's",
        "BabyLlama 69.8 and LTG-BERT 60.6": "the challenge's",
        "99 % instead of 62 %": "of a run with the fault that the sentence names",
    },
    "docs/blimp.md": {"67,000 pairs": "size of BLiMP"},
    "docs/bias_and_privacy.md": {
        "Frequencies alone give a tie, 50 %.": "of two sentences",
        "CC BY-SA 4.0": "a licence",
        "are more than ten points from 50 %": "of two sentences",
        "above 50 % and socioeconomic": "of two sentences, checked by stereotypes",
        "occur at most 100 times in the training text": "loss_by_distance.SELDOM",
        "It is 13.3 bits where the model ranks the secret first": "log2 of 10,000",
        "and 1.4 bits on average": "log2 e",
    },
    "docs/attention_cost.md": {
        "| 256 tokens | 1,024 | 4,096 | 16,384 |": "lengths",
        "from 2,048 tokens on: 1 is linear": "a constant of the benchmark",
        "At 16,384 tokens": "a length",
        "16,384. - Local attention": "a length",
        "above 1 from 1,024 tokens on": "checked by verdicts_on_cost",
    },
    "benchmarks/README.md": {
        "windows of 1, 2, 4, 8 times": "options",
        "67,000 minimal pairs": "size of BLiMP",
        "the 1,508 pairs of CrowS-Pairs": "size of CrowS-Pairs",
        "the 2,210 test sentences": "of SST",
        "8,544 sentences are too few": "of SST's training set",
        "| learning rate 0.001 |": "an option",
        "| sinusoidal | 0.0003 | 0.001 | 0.003 | 0.01 | 0.03 |": "options",
        "it learns at 0.001": "the recipe's",
        "the pre-LN models at 0.001": "an option",
        "| | 128 | 256 | 512 | 1,024 |": "options",
        "the 33,280 words": "size of the vocabulary",
        "constant rate 0.003": "an option",
        "dropout of 0.2": "the recipe's",
    },
    PAGES.format("bert"): {
        "15 % of the words are chosen; 80 %": "the paper's",
        "10 % another word, 10 % stay": "the paper's",
        "0.1 each in the paper": "the paper's",
    },
    PAGES.format("feed_forward"): {"At 33,280 words": "size of the vocabulary"},
    PAGES.format("gpt1"): {
        "0.1 each in the paper": "the paper's",
        "0.5, as in the paper": "the paper's",
        "up to 1,024 positions": "a limit in the code",
    },
    PAGES.format("ngram"): {"0.5, 1 and 1.5 serve": "constants of the code", "(0.4) for each word": "a default"},
    PAGES.format("recurrent"): {"700 × 33,000 numbers": "an example of a size"},
    "docs/large_vocabularies.md": {
        "At 33,000 words": "an example of a size",
        "the first 10,000 texts": "a constant of the code",
        "at 33,280 words": "size of the vocabulary",
    },
    "docs/recurrent_tasks.md": {"the same 8,544 sentences": "of the training set"},
}

OTHERS[PAGES.format("word2vec")] = {"a probability below 0.01": "a bound, checked by word2vec_page"}
OTHERS["docs/text_to_text.md"] = {
    "from which 15 % of the tokens are left out": "the paper's, and the default",
    "(0.15) and": "the default",
    "the same 20,000 sentences": "lines of the recipe's training data",
}
OTHERS["docs/filtering.md"] = {
    "the 30 % of lowest perplexity are its": "CCNet's default percentiles",
    "the next 30 % its": "CCNet's default percentiles",
    "keeps 30 % of all, so a perfect filter would keep 90 %": "the benchmark's option, of three equal kinds",
}
OTHERS["docs/tokenizers.md"] = {"on 1,000 lines read 8 times": "of the benchmark"}
OTHERS["docs/translation.md"] = {
    "29,000 pairs of captions": "lines of the file",
    "8,000 byte pairs": "of the recipes",
    "at most 2,048 tokens, label smoothing 0.1": "of the recipes",
    "a probability below 0.01": "a bound, checked by verdicts_on_translation",
}
OTHERS[PAGES.format("image_captioning")] = {
    "10,000 of its 60,000 training images": "images of the file and of Fashion-MNIST",
    "evenly spread, it would be 0.5": "of two halves",
}
OTHERS[PAGES.format("graves")] = {
    "sections 2 and 4.1": "of the paper",
    "σ = 0.001 + exp(σ̂), ρ = 0.999 tanh(ρ̂)": "the defaults",
    "(Omniglot 53.437, digits 16), with deviations of at least 0.001": "of the recipes",
    "temperature 0.5": "of the picture",
}
OTHERS[PAGES.format("vit")] = {
    "80 % are masked, 10 % are another patch, and 10 % stay": "the paper's",
    "10,000 of the 60,000 training images": "images of the file and of Fashion-MNIST",
    "ten passes over 9,000 images": "the recipe's, without those for validation",
    "below the 85 % that were expected": "an estimate made before",
}

_UNITS = r"(?:CPU |tokens |of the |)(?:seconds|minutes|times|per second)\b"
FIGURE = re.compile(
    r"(?<![\w.,:/-])[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)"  # thousands
    r"|(?<![\w.:/-])[-+]?\d+\.\d+(?!\w|\.\d)"  # decimals, but no sections such as 3.2.3
    rf"|(?<![\w.])\d+(?= %| {_UNITS})"
)


def normalise(text: str) -> str:
    return " ".join(text.split())


def without_code(text: str) -> str:
    """The document without its examples and commands, which other tests run, and without the targets of links."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not re.match(r" {4,}\S", line))
    text = re.sub(r"`[^`]*`", "``", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


@pytest.mark.parametrize("document", PASSAGES)
def test_passages_are_their_records(document: str) -> None:
    text = normalise((ROOT / document).read_text(encoding="utf-8"))
    missing = [passage for passage in PASSAGES[document]() if normalise(passage) not in text]
    assert not missing, f"{document} must read:\n" + "\n".join(missing)


@pytest.mark.parametrize("document", PASSAGES)
def test_no_other_figures(document: str) -> None:
    text = normalise(without_code((ROOT / document).read_text(encoding="utf-8")))
    passages = [normalise(without_code(passage)) for passage in PASSAGES[document]()]
    others = [normalise(passage) for passage in OTHERS.get(document, {})]
    assert not [passage for passage in others if passage not in text], "no longer in the document"
    for passage in sorted({*passages, *others}, key=len, reverse=True):
        text = text.replace(passage, " ¦ ")
    left = [text[max(0, match.start() - 60) : match.end() + 30] for match in FIGURE.finditer(text)]
    assert not left, f"{document}: no record stands behind these figures:\n" + "\n".join(left)


# Documents whose figures are defaults and versions of other programs (tests/interop holds them to it), or
# are sections of papers (errata); tests/test_claims_page.py compares docs/claims.md with its records.
NO_MEASUREMENTS = {"docs/claims.md", "docs/clients.md", "docs/errata.md", "docs/training.md", "docs/versions.md"}


def test_every_document_is_looked_at() -> None:
    paths = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
    paths += [ROOT / PAGES.format(name) for name in MODELS]
    found = {
        path.relative_to(ROOT).as_posix() for path in paths if FIGURE.search(without_code(path.read_text("utf-8")))
    }
    assert found - NO_MEASUREMENTS <= {*PASSAGES}, "documents with figures that no function above looks at"


def test_the_networks_took_at_most_forty_minutes() -> None:
    names = ("feed_forward", "self_attention", "self_attention_bpe", "transformer_xl", "efficient_transformer", "gpt1")
    for name in (*names, "recurrent"):
        assert float(minutes(name)) <= 40


def test_the_quickstart_names_its_python() -> None:
    path = ROOT / "benchmarks" / "results" / "quickstart.json"
    python = json.loads(path.read_text(encoding="utf-8"))["machine"]["versions"]["python"]
    assert f"Python {python}" in (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")


def test_standard_errors_of_the_neighbours() -> None:
    results = record("feed_forward_neighbours")
    first, *bands = (
        [model["input"][band]["context cosine, standard error"] for model in results["models"].values()]
        for band in results["random words"]
    )
    often, seldom, few, once = bands
    assert min(few + once) == 0.003
    assert max(few + once) == 0.005
    assert (round(max(seldom), 2), round(max(often), 2), round(max(first), 2)) == (0.01, 0.02, 0.05)
    counted = [results["count vectors"][band]["context cosine"] for band in list(results["random words"])[2:]]
    assert {round(value, 1) for value in counted} == {0.6}


@pytest.mark.parametrize(
    "name",
    [
        "feed_forward",
        "recurrent",
        "self_attention",
        "self_attention_bpe",
        "transformer_xl",
        "efficient_transformer",
        "gpt1",
    ],
)
def test_recipes_tell_the_validation_curve_of_their_record(name: str) -> None:
    text = (ROOT / "training" / "recipes" / f"{name}_wikitext2.yaml").read_text(encoding="utf-8")
    measured = text.partition("# Measured: validation perplexity")[2].partition("at the last (")
    told = re.findall(r"\d+\.\d", measured[0])
    curve = record(f"{name}_wikitext2")["validation_curve"]
    assert told == [f"{point['validation_perplexity']:.1f}" for point in curve]
    assert measured[2].startswith(f"{curve[-1]['step']:,})")


def test_the_first_sixth_of_wikitext_2(shared_data: Path) -> None:
    """docs/neighbours.md says how many words it has, how many different ones, and how many of them occur once."""
    lines = list(read_texts(shared_data / "wikitext-2" / "train.txt"))
    counts = Counter(word for line in lines[: len(lines) // 6] for word in line.split())
    once = sum(count == 1 for count in counts.values())
    passage = f"{counts.total():,} words, {len(counts):,} different ones, of them {once:,} that occur once"
    assert passage in normalise((ROOT / "docs" / "neighbours.md").read_text(encoding="utf-8"))
