# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture see attention`: the weight with which each token attends to each other."""

from pathlib import Path

from hf_lecture_models.analysis.attention_maps import (
    AttentionMaps,
    get_attention_maps,
    save_all_heads,
    save_attention_map,
    save_attention_of_word,
    which_heads,
)
from hf_lecture_models.cli.io import NAMED, heaviest, print_json
from hf_lecture_models.loading import load_model, short_name


def run(
    name: str,
    text: str,
    pair: str | None,
    layer: int | None,
    head: int | None,
    all_heads: bool,
    word: str | None,
    output: Path | None,
    json: bool,
) -> None:
    """Print the tokens to which each token, or `word`, attends; draw the map, or the maps of all heads."""
    model, tokenizer = load_model(name)
    maps = get_attention_maps(model, tokenizer, text, pair)
    weights, tokens = maps.of(layer, head), maps.text.tokens
    position = None if word is None else maps.text.find(tokenizer, word)
    if output is not None:
        if all_heads:
            save_all_heads(maps, output, short_name(name), layer)
        elif position is not None:
            save_attention_of_word(maps, position, output, short_name(name), layer, head)
        else:
            save_attention_map(maps, output, short_name(name), layer, head)
    if json:
        shape = {"layers": len(maps.layers), "heads": [len(layer) for layer in maps.layers]}
        values = maps.heads(layer) if all_heads else weights
        print_json({**shape, "layer": layer, "head": head, "tokens": list(tokens), "weights": values.tolist()})
        return
    print(f"{which_heads(maps, layer, head)}; uniform: {1 / len(tokens):.3f}")
    for row in range(len(tokens)) if position is None else [position]:
        print(f"{tokens[row]}\t{heaviest(weights[row], tokens, NAMED if position is None else len(tokens))}")
    if position is not None:
        print(_verdict(maps, position))


def _verdict(maps: AttentionMaps, position: int) -> str:
    counts = maps.most_attended(position).most_common()
    best = ", ".join(f"{maps.text.tokens[index]} in {count}" for index, count in counts)
    return f"the other word that it attends to most, of {len(maps.heads())} heads: {best or 'there is none'}"
