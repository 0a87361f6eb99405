# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Templates: the special tokens around a text and around a pair of texts, and the type id of each token.

A template is written as a `TemplateProcessing` of the Rust library. It is saved in `tokenizer.json`, works where this
package is not installed, and truncation never removes one of its special tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.processors import TemplateProcessing

# Tokens in their order with their type ids: around a text `$A`, and around a pair `$A`, `$B`.
TemplatePieces = tuple[list[tuple[str, int]], list[tuple[str, int]]]

_TEXTS = ("$A", "$B")
_backend = Tokenizer(WordLevel({text: id_ for id_, text in enumerate(_TEXTS)}, unk_token=_TEXTS[0]))
_ENCODED = tuple(_backend.encode(text) for text in _TEXTS)


@dataclass(frozen=True)
class Template:
    """The special tokens around a text and around a pair of texts, in the notation of `tokenizers.processors`.

    `$A` and `$B` are the two texts. Every other word is the name of a special token, such as `cls_token`, or its
    spelling, such as `[CLS]`. A type id other than 0 follows a colon: `$B:1`.

    >>> Template("bos_token $A eos_token", "bos_token $A eos_token $B:1 eos_token:1").type_ids
    True

    Attributes:
        single: for one text.
        pair: for two texts.
        tokens: names of special tokens, each with the spelling that a tokenizer without it gets; None for a token that
            a new tokenizer does not need.
        type_ids: whether the tokenizer returns `token_type_ids` by default.
    """

    single: str
    pair: str
    tokens: Mapping[str, str | None] = field(default_factory=dict)
    type_ids: bool = True

    def write(self, spellings: Mapping[str, str | None]) -> TemplatePieces:
        """Replace the names of special tokens by their spellings.

        >>> Template("bos_token $A", "bos_token $A $B:1").write({"bos_token": "<s>"})
        ([('<s>', 0), ('$A', 0)], [('<s>', 0), ('$A', 0), ('$B', 1)])
        """
        single, pair = (
            [_piece(piece, spellings, source) for piece in source.split()] for source in (self.single, self.pair)
        )
        return single, pair


_OF_ENCODERS: dict[str, str | None] = {
    "bos_token": None,
    "eos_token": None,
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}

# Devlin et al. 2019, figure 2; Liu et al. 2019, for masked language models without token types; Radford et al. 2018,
# figure 1; two texts that a model encodes one by one (slides Y).
TEMPLATES: dict[str, Template] = {
    "bert": Template("cls_token $A sep_token", "cls_token $A sep_token $B:1 sep_token:1", _OF_ENCODERS),
    "roberta": Template(
        single="cls_token $A sep_token",
        pair="cls_token $A sep_token sep_token $B:1 sep_token:1",
        tokens=_OF_ENCODERS,
        type_ids=False,
    ),
    "gpt1": Template(
        single="start_token $A extract_token",
        pair="start_token $A delim_token $B:1 extract_token:1",
        tokens={"start_token": "<start>", "delim_token": "<delim>", "extract_token": "<extract>"},
        type_ids=False,
    ),
    "pair": Template(single="bos_token $A", pair="bos_token $A bos_token:1 $B:1"),
}


def find_template(template: str | Template) -> Template:
    """Return the template of that name, or `template` itself.

    Raises:
        ValueError: no template has that name.
    """
    if isinstance(template, Template):
        return template
    if template not in TEMPLATES:
        raise ValueError(f"template is {template!r}; it must be one of {', '.join(TEMPLATES)}, or a Template")
    return TEMPLATES[template]


def language_model_template(bos: bool, eos: bool) -> Template:
    """Return the template that `add_bos_token` and `add_eos_token` ask for.

    >>> language_model_template(bos=True, eos=False).pair
    'bos_token $A bos_token:1 $B:1'
    """
    first, second = (f"{'bos_token' * bos} {text} {'eos_token' * eos}" for text in _TEXTS)
    second = " ".join(f"{piece}:1" for piece in second.split())
    return Template(" ".join(first.split()), " ".join([*first.split(), second]), type_ids=False)


def read_pieces(post_processor: Any) -> TemplatePieces:
    """Return the tokens that a post-processor of the Rust library, or None, puts around `$A`, and around `$A` and `$B`.

    Raises:
        ValueError: it does not know the id of one of its tokens; the library would panic.
    """
    if post_processor is None:
        return [("$A", 0)], [("$A", 0), ("$B", 1)]
    state = json.loads(post_processor.__getstate__())
    pieces = [piece for text in ("single", "pair") for piece in state.get(text) or () if isinstance(piece, dict)]
    unknown = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
    if state["type"] == "TemplateProcessing" and (unknown := unknown - state["special_tokens"].keys()):
        raise ValueError(f"its post_processor writes {min(unknown)!r}, which its special_tokens lack")
    single, pair = post_processor.process(_ENCODED[0]), post_processor.process(*_ENCODED)
    return _pieces(single), _pieces(pair)


def make_post_processor(written: TemplatePieces, backend: Tokenizer) -> TemplateProcessing:
    """Return the post-processor that writes these tokens, with their ids in `backend`.

    Raises:
        ValueError: a token is unknown to `backend`, or a text is missing or occurs twice.
    """
    for texts, pieces in zip((["$A"], ["$A", "$B"]), written, strict=True):
        if [token for token, _ in pieces if token in _TEXTS] != texts:
            raise ValueError(f"the template {show(pieces)!r} must hold {' and '.join(texts)}, in this order and once")
    special = {}
    for token in sorted(special_tokens_of(written)):
        if (id_ := backend.token_to_id(token)) is None:
            own = ", ".join(known.content for known in backend.get_added_tokens_decoder().values() if known.special)
            raise ValueError(
                f"the template's {token!r} is neither a special token of this tokenizer ({own or 'it has none'}) nor "
                "the name of one; name one of these in a Template, or give the tokenizer a spelling of the missing one"
            )
        special[token] = {"id": token, "ids": [id_], "tokens": [token]}
    # JSON, because the notation cannot express special tokens such as `a:b`, and `$`, which GPT-1's authors use.
    single, pair = ([_as_json(*piece) for piece in pieces] for pieces in written)
    state = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
    processor = TemplateProcessing("$A", "$A $B")
    processor.__setstate__(json.dumps(state).encode())
    return processor


def special_tokens_of(written: TemplatePieces) -> set[str]:
    """Return the special tokens around the texts."""
    return {token for pieces in written for token, _ in pieces} - set(_TEXTS)


def template_name(tokenizer: Any) -> str | None:
    """Return the name of the template that any tokenizer of the Rust library follows; None if it follows none of them.

    A language model's tokenizer writes the tokens of "pair" too, but does not return `token_type_ids`.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    written, returns_types = read_pieces(backend.post_processor), "token_type_ids" in tokenizer.model_input_names
    for name, template in TEMPLATES.items():
        if template.write(tokenizer.special_tokens_map) == written and (returns_types or name != "pair"):
            return name
    return None


def require_template(tokenizer: Any, name: str) -> None:
    """Raise an error that says what to do, unless `tokenizer` follows the template of that name.

    >>> from hf_lecture_models import WordTokenizer
    >>> tokenizer = WordTokenizer.train(["a cat"], template="bert", progress=False)
    >>> require_template(tokenizer, "bert")

    Args:
        tokenizer: any tokenizer, also one of transformers'.
        name: a key of `TEMPLATES`.

    Raises:
        ValueError: it follows another template.
    """
    needed = find_template(name)
    if template_name(tokenizer) == name:
        return
    backend = getattr(tokenizer, "backend_tokenizer", None)
    found = f"writes {show(read_pieces(backend.post_processor)[1])!r}" if backend else "has no template"
    raise ValueError(
        f"a pair must be encoded as {needed.pair!r} (the template {name!r}), but this {type(tokenizer).__name__} "
        f"{found}: call tokenizer.set_template({name!r}), which adds missing special tokens, and then "
        f"model.resize_token_embeddings(len(tokenizer)); or train the tokenizer with template={name!r}"
    )


def show(pieces: list[tuple[str, int]]) -> str:
    """Return pieces in the notation of a template.

    >>> show([("[CLS]", 0), ("$A", 0), ("$B", 1)])
    '[CLS] $A $B:1'
    """
    return " ".join(f"{token}:{type_id}" if type_id else token for token, type_id in pieces)


def _piece(piece: str, spellings: Mapping[str, str | None], source: str) -> tuple[str, int]:
    name, _, type_id = piece.rpartition(":") if ":" in piece else (piece, "", "0")
    if not type_id.isdigit():
        raise ValueError(f"the template {source!r} holds {piece!r}; a type id, a whole number, must follow the colon")
    return spellings.get(name) or name, int(type_id)


def _as_json(token: str, type_id: int) -> dict[str, dict[str, Any]]:
    if token in _TEXTS:
        return {"Sequence": {"id": token[1], "type_id": type_id}}
    return {"SpecialToken": {"id": token, "type_id": type_id}}


def _pieces(encoding: Any) -> list[tuple[str, int]]:
    return list(zip(encoding.tokens, encoding.type_ids, strict=True))
