# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The most probable next words of a text, for any causal language model and any tokenizer.

Words are separated by white space. The probability P(word | text before) of a word is that of its tokens, times, if
tokens do not mark the end of a word, that of the tokens that may follow a whole word. A word whose beginning is already
typed is spelled again from its first letter, so that "the ca" finds "cat" even if its tokens do not begin with those of
"ca". Words with characters that the model spells in bytes are not found.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hf_lecture_models.base.evaluation_mode import evaluation_mode
from hf_lecture_models.base.limits import input_limit
from hf_lecture_models.evaluation.encoding import start_token_id, unknown_tokens

# Most tokens of a word, so that a search over letters ends.
_LONGEST_WORD = 24
_BEAMS_PER_WORD = 4


@dataclass(frozen=True)
class NextWords:
    """The most probable next words of a text.

    Attributes:
        begun: the letters of the word that the text ends in; empty if the text ends with white space.
        words: whole words with their probability, the most probable first; all begin with `begun`.
        end: the probability that the text ends here; None if a word is begun.
    """

    begun: str
    words: list[tuple[str, float]]
    end: float | None


@dataclass(frozen=True)
class _Beam:
    log_prob: float
    ids: tuple[int, ...] = ()
    spelled: str = ""
    closed: bool = False


class NextWordFinder:
    """A search over tokens for the most probable next words of a text.

    >>> from hf_lecture_models import NGramForCausalLM, WordTokenizer
    >>> texts = ["the cat sat", "the cow sat", "the cat ran"]
    >>> tokenizer = WordTokenizer.train(texts)
    >>> model = NGramForCausalLM.fit(texts, tokenizer, order=2, smoothing="maximum_likelihood")
    >>> [(word, round(probability, 3)) for word, probability in NextWordFinder(model, tokenizer).find("the c").words]
    [('cat', 0.667), ('cow', 0.333)]

    Raises:
        ValueError: the tokenizer has no end of text.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.start = start_token_id(tokenizer)
        if tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has no eos_token, so nothing says where a text ends")
        self.model, self.tokenizer = model, tokenizer
        size = len(tokenizer)
        hidden = {*tokenizer.all_special_ids, *unknown_tokens(tokenizer)}
        self.usable = torch.tensor([token not in hidden for token in range(size)])
        self._probe(range(size))

    def _probe(self, tokens: range) -> None:
        """Decode each token to find the text that it adds, whether it ends a word, and whether it begins one."""
        decode = self.tokenizer.batch_decode
        alone = decode([[token] for token in tokens])
        visible = [token for token in tokens if self.usable[token] and alone[token][:1].isalnum()]
        # A token that can follow itself without a space occurs within words; a vocabulary of words has none.
        doubled = decode([[token, token] for token in visible])
        inner = next((t for t, text in zip(visible, doubled, strict=True) if not re.search(r"\s", text)), None)
        ends, added = [True] * len(alone), alone
        if inner is not None:
            followed = decode([[token, inner] for token in tokens])
            ends = [after[len(text) :][:1].isspace() for text, after in zip(alone, followed, strict=True)]
            added = [text[len(alone[inner]) :] for text in decode([[inner, token] for token in tokens])]
        self.ends = torch.tensor(ends)
        self.begins = torch.tensor([text[:1].isspace() for text in added])
        self.pieces = [text.strip() for text in added]
        self.blank = torch.tensor([piece == "" for piece in self.pieces])
        # A byte of a longer character has no text of its own.
        self.usable &= torch.tensor(["\ufffd" not in piece for piece in self.pieces])

    def find(self, text: str, number: int = 5) -> NextWords:
        """Return the `number` most probable words that may follow `text`, or that its last letters begin."""
        before, begun = re.fullmatch(r"(.*?)(\S*)", text, flags=re.DOTALL).groups()  # type: ignore[union-attr]
        context = self._context(before.rstrip())
        beams, end = [_Beam(0.0)], None
        found: dict[str, float] = {}
        for step in range(_LONGEST_WORD):
            log_probs = self._log_probs(context, beams)
            if step == 0 and not begun:
                end = math.exp(float(log_probs[0, self.tokenizer.eos_token_id]))
            for beam, row in zip(beams, log_probs, strict=True):
                # If tokens mark the beginning of a word, such a token or the end of the text ends the word before it.
                if len(beam.spelled) >= max(1, len(begun)) and self.begins.any():
                    over = row[: len(self.begins)][self.begins].logsumexp(0).logaddexp(row[self.tokenizer.eos_token_id])
                    _add(found, beam.spelled, beam.log_prob + float(over))
            grown = self._grow(context, beams, log_probs, begun, _BEAMS_PER_WORD * number)
            for beam in grown:
                if beam.closed:
                    _add(found, beam.spelled, beam.log_prob)
            enough = sorted(found.values(), reverse=True)[:number]
            beams = [b for b in grown if not b.closed and (len(enough) < number or b.log_prob > enough[-1])]
            if not beams:
                break
        best = sorted(found.items(), key=lambda item: -item[1])[:number]
        return NextWords(begun, [(word, math.exp(log_prob)) for word, log_prob in best], end)

    def _context(self, text: str) -> list[int]:
        longest = input_limit(self.model) or 2**20
        ids = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
        return [self.start, *ids][-max(1, longest - _LONGEST_WORD) :]

    @torch.no_grad()
    def _log_probs(self, context: list[int], beams: list[_Beam]) -> Tensor:
        """Return ln p of the next token of each beam, (beams, vocab)."""
        ids = torch.tensor([[*context, *beam.ids] for beam in beams], device=self.model.device)
        with evaluation_mode(self.model):
            return self.model(input_ids=ids, logits_to_keep=1).logits[:, -1].float().log_softmax(-1).cpu()

    def _grow(self, context: list[int], beams: list[_Beam], log_probs: Tensor, begun: str, width: int) -> list[_Beam]:
        """Return the most probable beams with one more token that spell, or continue, the letters typed so far."""
        scores = log_probs[:, : len(self.pieces)] + torch.tensor([[beam.log_prob] for beam in beams])
        for row, beam in enumerate(beams):
            scores[row, ~self._allowed(context, beam, begun)] = -math.inf
        best = scores.flatten().topk(min(width, scores.numel()))
        grown = []
        for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            if log_prob == -math.inf:
                break
            beam, token = beams[place // scores.shape[1]], place % scores.shape[1]
            spelled = beam.spelled + self.pieces[token]
            closed = bool(self.ends[token]) and len(spelled) >= len(begun)
            grown.append(_Beam(log_prob, (*beam.ids, token), spelled, closed))
        return grown

    def _allowed(self, context: list[int], beam: _Beam, begun: str) -> Tensor:
        """Return the tokens that may come next, (vocab,) bool."""
        fits = self.usable
        if rest := begun[len(beam.spelled) :]:
            reaches = torch.tensor([piece.startswith(rest) for piece in self.pieces])
            leads = torch.tensor([rest.startswith(piece) for piece in self.pieces]) & ~self.ends
            fits = fits & (reaches | leads)
        if beam.spelled:
            return fits & ~self.begins & ~self.blank
        if beam.ids or context == [self.start]:
            return fits & ~self.blank
        if self.ends[context[-1]] or not self.begins.any():
            return fits & ~self.blank
        return (fits | self.usable & self.blank) & self.begins


def _add(found: dict[str, float], word: str, log_prob: float) -> None:
    known = found.get(word, -math.inf)
    found[word] = max(known, log_prob) + math.log1p(math.exp(-abs(known - log_prob))) if known > -math.inf else log_prob
