# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The tables of the documents, and sums over several records: `benchmarks.figures` fills them in.

A function returns the rows, whose cells are the last of each row of the document's table, or the whole table as text.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from benchmarks import loss_by_distance, perplexity_filter, prompting, translation, wikitext2_table, word2vec
from benchmarks.records import ROOT, claim, facts, record

Rows = list[list[str]]
FIVE_GRAM = "5-gram, modified Kneser-Ney"


def percent(cell: Mapping[str, Any]) -> str:
    return f"{100 * cell['mean']:.1f}"


def with_error(cell: Mapping[str, Any]) -> str:
    return f"{percent(cell)} ± {100 * cell['standard_error']:.1f}"


def cells(row: Mapping[str, Any], template: str) -> list[str]:
    """Return the cells of a row.

    >>> cells({"mib": 2.25, "speed": {"ratio": 2}}, "{mib:.1f} | {speed[ratio]:.2f}")
    ['2.2', '2.00']
    """
    return template.format(**row).split(" | ")


def lines_of(path: str) -> int:
    """Return how many lines of a file of the package are not blank."""
    return sum(
        1 for line in (ROOT / "hf_lecture_models" / path).read_text(encoding="utf-8").splitlines() if line.strip()
    )


def quickstart() -> Rows:
    sizes = {True: "{parameters:,}", False: "{table_entries:,} n-grams"}
    measures = "{seconds:.2f} | {validation[perplexity]:.1f} | {test[perplexity]:.1f} | {test[bits_per_byte]:.3f}"
    return [
        cells(row, f"{{title}} | {sizes[row['parameters'] > 0]} | {measures}") for row in record("quickstart", "rows")
    ]


def live_pages() -> Rows:
    rows = record("live_pages", "pages")
    return [
        [row["page"], f"{row['bytes'] / 1e6:.2f}", f"{row['ms until ready']:.0f}", f"{row['CPU s']:.2f}"]
        for row in rows
    ]


KINDS_OF_ADAPTATION = ("", "Unigram", "Continuous", "Dynamic", "Dynamic+Unigram")


def adapted(model: str, kind: str = "", measure: str = "perplexity") -> float | None:
    """Return a measure of a model that was adapted in one of `KINDS_OF_ADAPTATION`; None if it was not."""
    names = kind.split("+") if kind else []
    for row in record("adaptation", "rows", [{"model": model}]):
        if [name for name in ("Dynamic", "Continuous", "Unigram") if name in row["adaptation"]] == names:
            return row[measure]
    return None


def adaptation() -> Rows:
    found = []
    for model in dict.fromkeys(record("adaptation", "rows", "*", "model")):
        perplexities = [adapted(model, kind) for kind in KINDS_OF_ADAPTATION]
        found.append([model, *("–" if one is None else f"{one:.1f}" for one in perplexities)])
    return found


def best_dynamic_evaluation(by_size: bool) -> float:
    """Return the lowest perplexity in choosing its options; by the size of gradients, the rates are below 0.01."""
    name = "DynamicEvaluation(learning_rate="
    rows = [row for row in record("adaptation", "tried", [{"model": "LSTM"}]) if row["adaptation"].startswith(name)]
    rows = [row for row in rows if "Unigram" not in row["adaptation"]]
    rates = [float(row["adaptation"].removeprefix(name).partition(",")[0]) for row in rows]
    return min(row["tuning_perplexity"] for row, rate in zip(rows, rates, strict=True) if (rate < 0.01) == by_size)


def sentence_pairs() -> Rows:
    """ln P of the preferred sentence and of the other, by words and by characters, and who wins."""
    found = []
    for english in (True, False):
        models = ("WikiText-2", "WikiText-2") if english else ("all captions", "5,000 captions")
        units = (f"words of {models[0]}, 5-gram", f"characters of {models[1]}, 6-gram")
        for rows in zip(*(record("sentence_pairs", "pairs", [{"model": unit}]) for unit in units), strict=True):
            cells = []
            for row, kind in zip(rows, ("words", "characters"), strict=True):
                better, worse = (f"{row[name]:.1f}" for name in ("log_prob_better", "log_prob_worse"))
                verdict = "a tie" if better == worse else "agrees" if float(better) > float(worse) else "disagrees"
                if row["better"].startswith("I do not like"):
                    verdict = "the slide leaves it open" if kind == "words" else ""
                cells.append(f"{better}, {worse}: {verdict}".removesuffix(": "))
            found.append(cells)
    return found


def parts_of_a_step() -> Rows:
    """Percent of GPT-2's step, at batch 1 and 16."""
    rows = record("generation_parts", "rows")
    whole = [sum(row["gpt2"].values()) for row in rows]
    found = []
    for part in (*rows[0]["gpt2"], "the whole step"):
        spent = [
            [row[name].get(part, sum(row[name].values())) for row in rows]
            for name in ("gpt2", "gpt1", "self_attention")
        ]
        cells = [
            "{:.0f} ({:.0f})".format(*(100 * ms / of for ms, of in zip(both, whole, strict=True))) for both in spent
        ]
        found.append([part.replace("forward", "`forward`").replace("generate()", "`generate()`"), *cells])
    return found


def neighbours() -> Rows:
    """The words and their neighbours; the record's table has more models."""
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in record("feed_forward_neighbours", "tables", "input")
    ]
    return [row for row in rows if row[1] in ("free", "one vector")]


def similarity_of_neighbours() -> Rows:
    chance, models = record("feed_forward_neighbours", "random words"), record("feed_forward_neighbours", "models")
    found = []
    for number, band in enumerate(chance):
        of_models = [models[name]["input"][band]["context cosine"] for name in ("free", "equal", "one vector", "tied")]
        values = [chance[band]["context cosine"], *of_models]
        cells = [f"{value:.{2 if number < 2 else 3}f}" for value in values]
        best = max(of_models) if number else None
        words = f"{band} ({models['free']['input'][band]['words']}{'' if number else ' words'})"
        found.append(
            [words, *(f"**{cell}**" if value == best else cell for cell, value in zip(cells, values, strict=True))]
        )
    return found


def kinds_of_neighbours() -> Rows:
    chance, models = record("feed_forward_neighbours", "random words"), record("feed_forward_neighbours", "models")
    columns = [chance, *(models[name]["input"] for name in ("free", "one vector", "tied"))]
    shares = ("same form", "rare")
    return [[band, *(f"{100 * one[band][share]:.0f} %" for share in shares for one in columns)] for band in chance]


def sweep_of_positions(norm: str, kind: str, rate: float) -> str:
    run = record("position_sweep", "runs", {"norm": norm, "kind": kind, "learning_rate": rate})
    return f"{run['validation_loss']:.3f}" + (", diverged" if run["diverged"] else "")


def extrapolation() -> Rows:
    """Perplexity of windows of 1, 2, 4 and 8 times the trained length; the table of learned positions ends."""
    found = []
    for kind in ("sinusoidal", "learned", "relative", "alibi", "none"):
        first, *longer = record("extrapolation", "perplexity", kind, "*")
        cells = [f"{one['perplexity']:.1f}" for one in (first, *longer) if one is not None]
        found.append(cells if all(longer) else [*cells, "the table ends", "", ""])
    return found


def large_vocabulary_speeds() -> Rows:
    found = []
    kinds = ("softmax", "adaptive", "noise_contrastive", "torch, softmax", "torch, adaptive")
    for model, beside in (("LSTM, 2 x 512", "torch, softmax"), ("feed-forward, order 5, 512 units", "softmax")):
        for run in record("large_vocabulary", f"throughput, {model}", "*"):
            speeds = run["tokens per CPU second"]
            times = run["times torch, softmax" if "torch, softmax" in speeds else "times softmax"]
            cells = [f"{speeds[kind]:,} ({times[kind]:.2f})" for kind in kinds if kind in speeds and kind != beside]
            cells.insert(list(kinds).index(beside), f"{speeds[beside]:,}")
            found.append(cells + [""] * (len(kinds) - len(cells)))
    return found


def large_vocabulary_curves() -> Rows:
    found = []
    for model in ("LSTM, 2 x 200, bf16 autocast", "feed-forward, order 5, 200 units, bf16 autocast"):
        cells = []
        for kind, curve in record("large_vocabulary", f"perplexity, {model}").items():
            ends = curve["points"][-1:] if kind == "softmax" else [curve["points"][0], curve["points"][-1]]
            cell = ", ".join(f"{point['perplexity']:.1f} after {point['cpu_s']:.0f} s" for point in ends)
            # The first evaluation may lie beyond the full softmax's last perplexity already.
            at_once = curve.get("cpu_s_to_the_last_of_softmax") == curve["points"][0]["cpu_s"]
            sooner = "" if kind == "softmax" else f": {'at least ' * at_once}{curve['times_faster']:.1f} times"
            cells.append(cell + sooner)
        found.append(cells)
    return found


def lstm_on_three_way_sst() -> Rows:
    """All figures of one network on one task."""
    cells = [record("sentence_classifiers", "rows", f"LSTM, {vector}") for vector in ("last state", "maximum")]
    cells.append(record("fine_tuning", "cells", "LSTM", "SST, three-way"))
    return [
        [with_error(cell)] for cell in [*cells, record("word_vector_inputs", "LSTM, last state", "rows", "one-hot")]
    ]


def units() -> Rows:
    return [
        [unit, f"{row['tokens']:.0f}", f"{row['parameters'] / 1000:,.0f}", f"{row['epochs']:.0f}"]
        + [f"{100 * row[name]:.1f}" for name in ("clean", "typos")]
        for unit, row in record("units", "units").items()
    ]


TRANSLATORS = ("none", "reversed", "additive", "dot", "transformer", "nguyen")


def translators() -> Rows:
    found = []
    for name in TRANSLATORS:
        model = record("translation", "models", name)
        tests = [model[test] for test in translation.TESTS]
        scores = (f"{test[measure]:.1f}" for test in tests for measure in ("bleu", "chrf"))
        seconds = sum(test["cpu_seconds"] for test in tests)
        found.append([f"{model['training']['step_cpu_seconds'] / 60:.0f}", *scores, f"{seconds:.0f}"])
    return found


def translators_by_length() -> Rows:
    lengths = record("translation", "lengths", "*")
    by_model = [[f"{one['models'][name]['bleu']:.1f}" for one in lengths] for name in TRANSLATORS]
    return [[str(one["sentences"]) for one in lengths], *by_model]


def vit() -> Rows:
    found = []
    for data in ("digits", "fashion_mnist"):
        rows = [record("vit_accuracy", f"{data}, {start}") for start in ("classes alone", "pixels", "mean_color")]
        seconds = rows[0]["CPU seconds of learning"], rows[1]["pre-training: CPU seconds of learning"]
        accuracies = [f"{100 * row['test accuracy']:.1f}" for row in rows]
        found.append([f"{rows[0]['images']:,}", *accuracies, "{:,} ({:,})".format(*seconds)])
    return found


def word_vectors() -> Rows:
    return [
        [
            f"{title}, {name.partition(',')[0]}{' in float32' * name.endswith('float32')}",
            f"{run['epochs']:g}",
            f"{run['cpu_seconds']:.0f}",
            f"{run['words_per_cpu_second'] / 1000:.0f}",
            f"{run['held_out_loss']:.3f}",
            *(f"{run[test]:.2f}" for test in word2vec.PAIRS),
            f"{100 * run['analogies']:.1f} %",
        ]
        for architecture, title in (("skip_gram", "skip-gram"), ("cbow", "CBOW"))
        for name, run in record("word2vec", architecture, "runs").items()
    ]


def elmo() -> Rows:
    found = []
    for data in ("ewt", "wnut17"):
        without, with_it = (record("elmo", f"{data}, {way}") for way in ("without", "with"))
        mix = cells(with_it["runs"][0], "{s[0]:.2f}, {s[1]:.2f}, {s[2]:.2f} | {gamma:.2f}")
        found.append([percent(without), percent(with_it), *mix])
    return found


def errors_of_neighbours(first: int, end: int | None = None) -> list[float]:
    """Return the standard errors of some bands' cosines, of all models."""
    bands = list(record("feed_forward_neighbours", "random words"))[first:end]
    models = record("feed_forward_neighbours", "models", "*", "input")
    return [model[band]["context cosine, standard error"] for model in models for band in bands]


def beside_torchs_adaptive_softmax(precision: str) -> float:
    """Return the speed of the LSTM with the adaptive softmax, as a multiple of torch's."""
    speeds = record("large_vocabulary", "throughput, LSTM, 2 x 512", precision, "tokens per CPU second")
    return speeds["adaptive"] / speeds["torch, adaptive"]


@cache
def parameters(kind: str, length: int, **fields: Any) -> int:
    """Return those of a network of padded_mlp ("padded" or "layer per input"), without its word vectors."""
    import torch

    import hf_lecture_models as models

    config_class, model_class = {
        "padded": (models.PaddedMlpConfig, models.PaddedMlpForSequenceClassification),
        "layer per input": (models.LayerPerInputConfig, models.LayerPerInputForSequenceClassification),
    }[kind]
    with torch.device("meta"):
        model = model_class(config_class(max_position_embeddings=length, num_labels=3, **fields))
    vectors = 0 if model.config.embedding_size is None else model.get_input_embeddings().weight.numel()
    return model.num_parameters() - vectors


def smoothing() -> Rows:
    """Test perplexity by order; of additive smoothing the best of four, which is not that of one."""
    names = (
        *("add_alpha", "witten_bell", "witten_bell_backoff", "jelinek_mercer"),
        *("absolute_discounting", "good_turing", "katz", "kneser_ney"),
    )
    found = {
        name: [one for one in record("ngram_wikitext2", "rows", [{"smoothing": name}]) if one.get("alpha") != 1]
        for name in (*names, "modified_kneser_ney")
    }
    return [
        [f"{one['test_word_perplexity']:,.1f}" for one in rows if one["order"] in (2, 3, 4, 5)]
        for rows in found.values()
    ]


def with_interval(effect: Mapping[str, Any], digits: int = 1) -> str:
    return f"{effect['mean']:+.{digits}f}±{effect['mean'] - effect['low']:.{digits}f}"


def gains_by_reversing() -> Rows:
    """The chrF of translators with a reversed source and with the source as it is, and the gain."""
    found = []
    for case in claim("reversed_source", "cases").values():
        means = [statistics.mean(arm["means"]) for arm in case["arms"].values()]
        found.append([f"{means[0]:.1f}", f"{means[1]:.1f}", with_interval(case["effect"])])
    return found


def lost_by_attention() -> dict[str, float]:
    """Return how much smaller the gain by reversing is with attention, as if the errors of both were independent."""
    without, beside = (case["effect"] for case in claim("reversed_source", "cases").values())
    lost = without["mean"] - beside["mean"]
    half = math.hypot(without["mean"] - without["low"], beside["mean"] - beside["low"])
    return {"mean": lost, "low": lost - half, "high": lost + half}


def discount_effects(comparison: str, **fields: Any) -> list[dict[str, Any]]:
    """Return the effects of a comparison after all parts of both corpora, or those of some rows."""
    rows = [row for name in ("wikitext-2", "reviews") for row in record("discounting", name, "rows", [fields])]
    return [row["effects"][comparison] for row in rows if row["part"] != "change"]


def discount_change(corpus: str, order: int, comparison: str = "beside one weight") -> dict[str, Any]:
    """Return how a gain changes from the smallest part to the whole corpus."""
    return dict(record("discounting", corpus, "rows", {"part": "change", "order": order}, "effects", comparison))


def discounts_by_size() -> Rows:
    """The gain of modified Kneser-Ney with order 3, by the tokens of WikiText-2 and of the reviews that are counted."""
    found = []
    for part in ("1/64", "1/16", "1/4", "1/1"):
        row: list[str] = []
        for corpus in ("wikitext-2", "reviews"):
            one = record("discounting", corpus, "rows", {"part": part, "order": 3})
            effects = [one["effects"][name] for name in ("beside one weight", "beside weights")]
            row += [f"{one['tokens'] / 1e6:.2f}", *map(with_interval, effects)]
        found.append(row)
    return found


def discounts_by_order() -> Rows:
    """The gain of each part of Kneser-Ney after a whole corpus, by order."""
    names = (
        "discounts, all occurrences",
        "different words, discounts",
        "discounts, different words",
        "three discounts",
    )
    rows = [
        record("discounting", corpus, "rows", {"part": "1/1", "order": order}, "effects")
        for corpus in ("wikitext-2", "reviews")
        for order in (2, 3, 5)
    ]
    return [[with_interval(row[name]) for row in rows] for name in names]


def large_corpora() -> Rows:
    found = []
    runs = {"equality": ("in_memory", "past"), "middle": ("in_memory", "past", "lmplz"), "large": ("past", "lmplz")}
    for run, programs in runs.items():
        for program in programs:
            row = record("corpora_out_of_core", run, program)
            shown = [f"{row[key]:,.0f}" if key in row else "" for key in ("peak_mib", "disk_mb")]
            found.append([f"{row['cpu_s']:.0f}", *shown])
    return found


def corpora_growth() -> Rows:
    """Order 3 by the number of tokens, then order 5 by numpy and by DuckDB."""
    rows = [record("corpora_growth", "rows", key) for key in ("10", "20", "50", "100", "200")]
    rows += [record("corpora_growth", "order_5", engine) for engine in ("numpy", "duckdb")]
    return [
        [
            f"{row['cpu_s']:.0f}",
            f"{1e6 * row['cpu_s'] / row['tokens']:.2f}",
            f"{row['peak_mib']:,.0f}",
            f"{row['disk_mb']:,.0f}",
        ]
        for row in rows
    ]


def filtered(which: str) -> Rows:
    """The shares that a filter keeps, by kind of text ("kept") or "kept_by_length"."""
    return [
        [name, title, *(f"{100 * share:.0f} %" for share in record("perplexity_filter", unit, measure, which, "*"))]
        for unit, name in FILTERS.items()
        for measure, title in (("perplexity", "perplexity"), ("bits_per_byte", "bits per byte"))
    ]


FILTERS = {"words": "words", "pieces": f"{perplexity_filter.PIECES:,} pieces"}


def speed_of_filters() -> Rows:
    found = []
    for unit, name in FILTERS.items():
        speed = record("perplexity_filter", unit)
        rates = [f"{speed['tokens_per_cpu_s'][one] / 1e6:.2f}" for one in ("kenlm", "call", "verb")]
        found.append([name, *rates, *(f"{speed['ratios'][one]:.2f}" for one in ("call", "verb"))])
    return found


def filters_at_scale() -> Rows:
    """A loop with kenlm and a query of DuckDB on the first of ten files, then DuckDB and the verb on all of them."""
    rows = [record("filter_at_scale", key) for key in ("kenlm_first_file", "duckdb_first_file", "duckdb", "verb")]
    return [[f"{row['lines'] / 1e6:.0f}", f"{row['lines_per_cpu_s']:,.0f}", f"{row['peak_mib']:,.0f}"] for row in rows]


def quantised_ngrams() -> Rows:
    found = []
    for row in record("ngram_quantisation", "models", "*"):
        distance = row.get("largest_deviation_of_sums")
        found.append([f"{row['mib']:.1f}", f"{row['perplexity']:.2f}", "" if distance is None else f"{distance:.3f}"])
    return found


def mixed_ngrams() -> Rows:
    found = []
    for name, row in record("ngram_mixing", "texts").items():
        values = (f"{row[kind][figure]:,.1f}" for kind in ("dynamic", "static") for figure in ("log10", "perplexity"))
        found.append([name, f"{row['events']:,}", *values])
    return found


def pruned_ngrams() -> Rows:
    none, *rows = record("ngram_pruning", "rows")
    found = [["none", f"{none['ngrams']:,}", f"{none['perplexity']:.1f}", ""]]
    for own, other in zip(rows[::2], rows[1::2], strict=True):
        found.append(
            [f"{own['threshold']:.0e}", f"{own['ngrams']:,}", *(f"{x['perplexity']:.1f}" for x in (own, other))]
        )
    return found


def gradient_flow() -> Rows:
    found = []
    for name, model in record("gradient_flow", "models").items():
        for state in ("untrained", "trained"):
            norms, step = model[state]["norms"], model[state].get("step")
            singular = f"{step['median']:.2f}, {step['largest']:.2f}" if step else ""
            places = ("0", "5", "10", "20", "40", "58")
            found.append([f"{name}, {state}", *(f"{norms[place]:.0e}" for place in places), singular])
    return found


def depth_gradients() -> Rows:
    found = []
    for residual in (True, False):
        for norm in ("pre", "post", "none"):
            row = record("depth_gradients", "variants", {"residual": residual, "norm": norm})
            last = row["trained"]["last loss"]
            ratios = (f"{row['Glorot'][depth]['weights']:.2g}" for depth in ("2", "4", "8", "12", "16", "24"))
            found.append([*ratios, "NaN" if last is None else f"{last:.2f}"])
    return found


RECALLERS = ("dense", "dense_relative", "transformer_xl", "local", "random", "hierarchical", "linear", "performer")
RECALLERS += ("hashing", "low_rank", "lstm", "gru")


def recall_runs(texts: str, model: str) -> list[Any]:
    return record("recall", "runs", [{"texts": texts, "model": model}])


def rounded_percent(values: Iterable[float]) -> str:
    return f"{100 * statistics.fmean(values):.0f}"


def induction() -> Rows:
    found = []
    for model in RECALLERS:
        runs = recall_runs("induction", model)
        bands = (("4", "8"), ("12", "16"), ("20", "24"), ("28", "32"))
        shares = [rounded_percent(run["distance"][band] for run in runs for band in own) for own in bands]
        steps = ", ".join(str(run["breakthrough"] or "-") for run in runs)
        seconds = statistics.fmean(run["cpu_seconds"] for run in runs)
        found.append([rounded_percent(run["accuracy"]["4"] for run in runs), *shares, steps, f"{seconds:.0f}"])
    return found


def other_recall() -> Rows:
    found = []
    for model in RECALLERS:
        (pairs,), (copying,) = (recall_runs(texts, model) for texts in ("associative_recall", "copying"))
        lists = [rounded_percent([run["accuracy"]["4"]]) for run in recall_runs("list_operations", model)]
        shares = [rounded_percent([run["accuracy"][of]]) for run, of in ((pairs, "4"), (pairs, "8"), (copying, "4"))]
        steps = [str(run["breakthrough"] or "-") for run in (pairs, copying)]
        found.append([*shares[:2], steps[0], shares[2], steps[1], *(lists or "-")])
    return found


def attention_cost(part: str) -> Rows:
    """Cost of "training" or "generation" by the length of the text."""
    found = []
    for name, row in record("attention_cost", part, "rows").items():
        summary = record("attention_cost", part, "summary", name)
        cells = [row.get(length) for length in ("256", "1024", "4096", "16384")]
        shown = ["-" if one is None else f"{one['seconds']:.2g} / {one['MiB']:.3g}" for one in cells]
        slopes = [summary[f"slope of {what}"] for what in ("seconds", "MiB")]
        shown.append(" / ".join("-" if slope is None else f"{slope:.1f}" for slope in slopes))
        first = summary["faster than dense, sdpa from"]
        found.append([name, *shown, "-" if first is None else f"{first:,}"])
    return found


def without_attention() -> Rows:
    folders = ("dense", "local", "random", "hierarchical", "linear", "performer", "hashing")
    rows = [record("efficient_ablation", "perplexity", name) for name in folders]
    rows.append(record("efficient_ablation", "perplexity", "efficient_transformer_masked_wikitext2"))
    return [[f"{value:,.1f}" for key, value in row.items() if key != "attention_kind"] for row in rows]


def points() -> Rows:
    rows = [row for rows in record("sequence_prediction").values() for row in rows]
    return [[f"{row[key]:.2f}" if key in row else "-" for key in ("bits_per_point", "nats_per_point")] for row in rows]


def points_ahead_of_the_ngram() -> dict[str, float]:
    """Return by how many points of BabyLM's table each network is better than the 5-gram."""
    shown = {title: round(100 * row["pipeline_accuracy"], 1) for title, row in record("babylm", "rows").items()}
    return {title: shown[title] - shown[FIVE_GRAM] for title in wikitext2_table.NETWORKS}


def seldom(model: str) -> dict[str, float]:
    """Return the bits of seldom words by the distance to their last occurrence."""
    return {
        label: bits for label, _, bits in loss_by_distance.shown(record("loss_by_distance", "rows", model, "seldom"))
    }


def networks(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of the networks of the WikiText-2 table."""
    return {title: row for title, row in rows.items() if title in wikitext2_table.NETWORKS}


def written_answers() -> float:
    """Return the highest share of answers that a model wrote word for word."""
    rows = prompting.all_rows(record("prompting", "rows"))
    return max(row["generated"]["exact_match"] for row in rows if "generated" in row)


@cache
def energy() -> dict[str, Any]:
    """Return the estimate of each training of the cards that has one."""
    from hf_lecture_models.hub.energy import estimate_energy

    names = sorted(path.stem for path in (ROOT / "hub_cards" / "facts").glob("*.json"))
    estimates = {name: estimate_energy(facts(name).get("training") or {}) for name in names}
    return {name: one for name, one in estimates.items() if one is not None}
