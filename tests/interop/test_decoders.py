# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Decoders of speech recognisers read the ARPA files that we write for them, and score words as the model does.

The model lacks the last words of some of its n-grams, as pruned models do. The independent side is `slow_model`.
Without the decoders the tests are skipped; docs/speech.md says which versions were tried. pyctcdecode asks for numpy 1,
but works with numpy 2: `pip install --no-deps pyctcdecode pygtrie`.
"""

import itertools
import math
from collections import defaultdict
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from hf_lecture_models import NGramForCausalLM, WordTokenizer
from tests.models.ngram.tools.slow_model import arpa_text, drop_ngrams, slow_model

TEXTS = [
    "a b ab a ba",
    "ab a bb ba",
    "b ab ba ab",
    "a a ab b bb a ba b",
    "ba a b ab",
    "ab ab a b",
    "b a",
    "bb a ba b a",
]
WORDS = ["a", "b", "ab", "ba"]  # bb is unknown
LABELS = ["", " ", "a", "b"]
SENTENCES = [words for n in range(5) for words in itertools.product([*WORDS, "bb"], repeat=n)]


def needs(*packages):
    lacking = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"{', '.join(lacking)} not installed")


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """A model, its tokenizer, and both as dictionaries."""
    tokenizer = WordTokenizer.from_words(WORDS)
    model = NGramForCausalLM.fit(TEXTS, tokenizer, 4, "absolute_discounting")
    path = tmp_path_factory.mktemp("pruned") / "lm.arpa"
    path.write_text(arpa_text(drop_ngrams(slow_model(model, tokenizer), 0.6, seed=1)), "utf-8")
    model, tokenizer = NGramForCausalLM.from_arpa(path)
    return model, tokenizer, slow_model(model, tokenizer)


@pytest.fixture
def written(pruned, tmp_path):
    """A function: write the model for a decoder, return the path."""

    def write(decoder, **options):
        pruned[0].save_arpa(tmp_path / "lm.arpa", pruned[1], decoder=decoder, **options)
        return str(tmp_path / "lm.arpa")

    return write


def log10s(slow, words):
    """log10 p of each word and of </s>."""
    known = ["<s>", *(word if word in WORDS else "<unk>" for word in words), "</s>"]
    return [slow.log10(tuple(known[max(0, at - 3) : at]), known[at]) for at in range(1, len(known))]


def paths(log_probs):
    """Every sequence of labels with its ln p, and the text: repeated labels are one, blanks are none."""
    for path in itertools.product(range(len(LABELS)), repeat=len(log_probs)):
        text = "".join(LABELS[label] for label, _ in itertools.groupby(path))
        yield text, float(sum(row[label] for row, label in zip(log_probs, path, strict=True)))


def best_text(log_probs, slow, alpha, beta):
    """The best of all texts, with the score of pyctcdecode: alpha on ln P, beta and -10 (log10) for unknown words."""
    acoustic = defaultdict(list)
    for text, log_prob in paths(log_probs):
        acoustic[" ".join(text.split())].append(log_prob)
    scores = {}
    for text, values in acoustic.items():
        words = text.split()
        language = sum(log10s(slow, words)) - 10 * sum(word not in WORDS for word in words)
        scores[text] = np.logaddexp.reduce(values) + alpha * math.log(10) * language + beta * len(words)
    return max(scores.items(), key=lambda item: item[1])


# Keeps all beams, but for labels that `ends_in_a_letter` has made impossible.
ALL_BEAMS = {"beam_width": 10**6, "beam_prune_logp": -1e9, "token_min_logp": -30}


def ends_in_a_letter(logits):
    """Take blank and space out of the last frame: pyctcdecode scores an empty word after a space (docs/speech.md)."""
    logits = logits.copy()
    logits[..., -1, :2] = -60
    return logits


@needs("pyctcdecode", "kenlm")
def test_pyctcdecode_scores_words_in_natural_logarithms(pruned, written):
    import kenlm
    from pyctcdecode.language_model import LanguageModel, load_unigram_set_from_arpa

    path = written("pyctcdecode")
    unigrams = load_unigram_set_from_arpa(path)
    assert unigrams >= set(WORDS)
    language_model = LanguageModel(kenlm.Model(path), unigrams, alpha=1.0, beta=0.0, unk_score_offset=-10.0)
    for words in filter(None, SENTENCES):
        *expected, end = log10s(pruned[2], words)
        state = language_model.get_start_state()
        for at, (word, log10) in enumerate(zip(words, expected, strict=True)):
            last = at == len(words) - 1
            score, state = language_model.score(state, word, is_last_word=last)
            whole = log10 + (end if last else 0) - (10 if word not in WORDS else 0)
            assert score == pytest.approx(math.log(10) * whole, abs=1e-5)


@needs("pyctcdecode", "kenlm")
@pytest.mark.parametrize("seed", range(4))
def test_pyctcdecode_finds_the_best_text(pruned, written, seed):
    from pyctcdecode import build_ctcdecoder

    logits = ends_in_a_letter(np.random.default_rng(seed).normal(size=(5, len(LABELS))) * 2)
    decoder = build_ctcdecoder(LABELS, written("pyctcdecode"), alpha=0.7, beta=1.5)
    beams = decoder.decode_beams(logits, **ALL_BEAMS)
    log_probs = torch.from_numpy(logits).log_softmax(-1).numpy()
    text, score = best_text(log_probs, pruned[2], alpha=0.7, beta=1.5)
    assert (beams[0][0], beams[0][-1]) == (text, pytest.approx(score, abs=1e-4))


@needs("pyctcdecode", "kenlm")
@pytest.mark.parametrize("seed", range(4))
def test_pyctcdecode_finds_the_best_text_that_may_end_in_a_space(pruned, written, seed):
    import kenlm
    from pyctcdecode import Alphabet, BeamSearchDecoderCTC, LanguageModel

    class EmptyWordsAreFree(LanguageModel):  # printed in docs/speech.md
        def score(self, prev_state, word, is_last_word=False):
            if word:
                return super().score(prev_state, word, is_last_word)
            end = self._get_raw_end_score(prev_state) if is_last_word else 0.0
            return self.alpha * end * math.log(10), prev_state

    language_model = EmptyWordsAreFree(kenlm.Model(written("pyctcdecode")), WORDS, alpha=0.7, beta=1.5)
    decoder = BeamSearchDecoderCTC(Alphabet.build_alphabet(LABELS), language_model)
    logits = np.random.default_rng(seed).normal(size=(5, len(LABELS))) * 2
    beams = decoder.decode_beams(logits, **ALL_BEAMS)
    log_probs = torch.from_numpy(logits).log_softmax(-1).numpy()
    text, score = best_text(log_probs, pruned[2], alpha=0.7, beta=1.5)
    assert (beams[0][0], beams[0][-1]) == (text, pytest.approx(score, abs=1e-4))


@pytest.mark.slow
@needs("pyctcdecode", "kenlm")
def test_wav2vec2_with_our_model_decodes_the_best_text(pruned, written, tmp_path):
    from pyctcdecode import build_ctcdecoder
    from transformers import (
        Wav2Vec2Config,
        Wav2Vec2CTCTokenizer,
        Wav2Vec2FeatureExtractor,
        Wav2Vec2ForCTC,
        Wav2Vec2ProcessorWithLM,
        set_seed,
    )

    (tmp_path / "vocab.json").write_text('{"<pad>": 0, "|": 1, "a": 2, "b": 3}', "utf-8")
    marks = {"unk_token": None, "bos_token": None, "eos_token": None}
    tokenizer = Wav2Vec2CTCTokenizer(str(tmp_path / "vocab.json"), **marks)
    decoder = build_ctcdecoder(LABELS, written("pyctcdecode"))
    processor = Wav2Vec2ProcessorWithLM(Wav2Vec2FeatureExtractor(), tokenizer, decoder)
    processor.save_pretrained(tmp_path / "processor")
    processor = Wav2Vec2ProcessorWithLM.from_pretrained(tmp_path / "processor")
    set_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    convolutions = {"conv_dim": (8, 8), "conv_stride": (10, 8), "conv_kernel": (10, 8), "num_feat_extract_layers": 2}
    positions = {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
    model = Wav2Vec2ForCTC(Wav2Vec2Config(vocab_size=4, **sizes, **convolutions, **positions)).eval()
    with torch.no_grad():
        model.lm_head.weight *= 100  # else all labels are about equally probable
        logits = model(torch.randn(8, 400)).logits.numpy()
    assert logits.shape == (8, 5, 4)
    logits = ends_in_a_letter(logits)
    found = processor.batch_decode(logits, alpha=0.7, beta=1.5, num_processes=1, **ALL_BEAMS)
    expected = [best_text(rows.log_softmax(-1).numpy(), pruned[2], 0.7, 1.5) for rows in torch.from_numpy(logits)]
    assert found.text == [text for text, _ in expected]
    assert found.lm_score == pytest.approx([score for _, score in expected], abs=1e-3)
    assert len(set(found.text)) > 2


@needs("flashlight")
def test_flashlight_scores_words_in_logarithms_of_base_ten(pruned, written):
    from flashlight.lib.text.decoder.kenlm import KenLM
    from flashlight.lib.text.dictionary import Dictionary

    dictionary = Dictionary()
    for word in (*WORDS, "bb"):
        dictionary.add_entry(word)
    language_model = KenLM(written("flashlight"), dictionary)
    for words in SENTENCES:
        *expected, end = log10s(pruned[2], words)
        state = language_model.start(False)
        for word, log10 in zip(words, expected, strict=True):
            state, score = language_model.score(state, dictionary.get_index(word))
            assert score == pytest.approx(log10, abs=1e-5)
        assert language_model.finish(state)[1] == pytest.approx(end, abs=1e-5)


@needs("flashlight")
@pytest.mark.parametrize("seed", range(4))
def test_flashlight_finds_the_best_path(pruned, written, seed):
    from flashlight.lib.text import decoder as fl
    from flashlight.lib.text.decoder.kenlm import KenLM
    from flashlight.lib.text.dictionary import Dictionary

    dictionary, trie = Dictionary(), fl.Trie(len(LABELS), 1)
    language_model_words = [*WORDS, "bb"]
    for index, word in enumerate(language_model_words):
        dictionary.add_entry(word)
        trie.insert([*map(LABELS.index, word), 1], index, 0.0)  # each word ends with the space
    sizes = {"beam_size": 10**6, "beam_size_token": len(LABELS), "beam_threshold": 1e9}
    scores = {"lm_weight": 1.5, "word_score": 0.5, "unk_score": -math.inf, "sil_score": 0.0}
    options = fl.LexiconDecoderOptions(**sizes, **scores, log_add=False, criterion_type=fl.CriterionType.CTC)
    language_model = KenLM(written("flashlight"), dictionary)
    decoder = fl.LexiconDecoder(options, trie, language_model, 1, 0, -1, [], False)
    emissions = torch.from_numpy(np.random.default_rng(seed).normal(size=(6, len(LABELS))) * 2).log_softmax(-1).float()
    found = decoder.decode(emissions.data_ptr(), *emissions.shape)[0]
    expected = {}
    for text, log_prob in paths(emissions.double().numpy()):
        words = tuple(text.split())
        if (not words or text.endswith(" ")) and set(words) <= set(language_model_words):
            score = log_prob + 1.5 * sum(log10s(pruned[2], words)) + 0.5 * len(words)
            expected[words] = max(expected.get(words, -math.inf), score)
    words, score = max(expected.items(), key=lambda item: item[1])
    assert tuple(dictionary.get_entry(word) for word in found.words if word >= 0) == words
    assert found.score == pytest.approx(score, abs=1e-4)


@needs("kaldilm")
def test_kaldi_reads_the_model_as_a_machine(pruned, written, tmp_path):
    import kaldilm

    path, symbols = written("kaldi", unknown_word="<SPOKEN_NOISE>"), tmp_path / "words.txt"
    machine = kaldilm.arpa2fst(path, disambig_symbol="#0", write_symbol_table=str(symbols))
    labels = dict(line.split() for line in symbols.read_text("utf-8").splitlines())
    arcs, finals = defaultdict(dict), {}
    rows = [line.split() for line in machine.splitlines() if line]
    for source, *row in rows:
        if len(row) < 2:
            finals[source] = float(row[0]) if row else 0.0
        else:
            arcs[source][row[1]] = row[0], float(row[3]) if len(row) > 3 else 0.0

    def step(state, found):
        """Back off until the state is in `found`; return the cost so far and the state."""
        cost = 0.0
        while state not in found:
            state, weight = arcs[state][labels["#0"]]
            cost += weight
        return cost, state

    for words in SENTENCES:
        state, cost = rows[0][0], 0.0
        for word in words:
            label = labels[word if word in WORDS else "<SPOKEN_NOISE>"]
            extra, state = step(state, {source for source in arcs if label in arcs[source]})
            state, weight = arcs[state][label]
            cost += extra + weight
        extra, state = step(state, finals)
        assert -(cost + extra + finals[state]) == pytest.approx(math.log(10) * sum(log10s(pruned[2], words)), abs=1e-4)


@needs("pocketsphinx")
def test_pocketsphinx_scores_words_the_last_one_first(pruned, written):
    from pocketsphinx import Config, LogMath, NGramModel

    model = NGramModel(Config(lw=1.0, wip=1.0), LogMath(), written("pocketsphinx"))
    assert model.size() == 4
    for words in SENTENCES:
        whole = ["<s>", *words, "</s>"]
        for at, log10 in enumerate(log10s(pruned[2], words), 1):
            newest_first = whole[max(0, at - 3) : at + 1][::-1]
            assert model.prob(newest_first) * math.log10(1.0001) == pytest.approx(log10, abs=3e-4)


@needs("pynini")
def test_pynini_reads_the_machine(pruned, tmp_path):
    import pynini
    import pywrapfst

    from hf_lecture_models.models.ngram.conversion_ngram import save_fst

    model, tokenizer, slow = pruned
    save_fst(model, tmp_path / "lm.fst.txt", tokenizer)
    symbols = pynini.SymbolTable.read_text(str(tmp_path / "lm.syms"))
    tables = {"isymbols": symbols, "osymbols": symbols, "keep_isymbols": True, "keep_osymbols": True}
    compiler = pywrapfst.Compiler(acceptor=True, **tables)
    compiler.write((tmp_path / "lm.fst.txt").read_text("utf-8"))
    machine = pynini.Fst.from_pywrapfst(compiler.compile())
    machine.arcsort()
    equal = 0
    for words in itertools.product(WORDS, repeat=3):
        sentence = pynini.accep(" ".join(words), token_type=symbols)
        best = float(pynini.shortestdistance(sentence @ machine, reverse=True)[0])
        cost = -math.log(10) * sum(log10s(slow, words))
        assert best <= cost + 1e-4  # an epsilon may be taken where the model has the word
        equal += best >= cost - 1e-4
    assert equal > 30
