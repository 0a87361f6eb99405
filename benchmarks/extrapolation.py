# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Perplexity of each kind of positions on windows of 1, 2, 4 and 8 times the length that the model was trained on.

    OMP_NUM_THREADS=1 python -m benchmarks.extrapolation [--folder runs/position_sweep] [--norm pre]

The models are those that `benchmarks.position_sweep` trained and left in its folder. The text is one stream, cut into
windows that overlap by half: a token is predicted from half a window to a whole one. Learned positions end where
training ended, so longer windows are not measured for them.
"""

from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks.common import new_parser, read_options, timed, wikitext, write_results
from benchmarks.position_sweep import FOLDER, KINDS, NORMS, RATE, Run
from hf_lecture_models import evaluate_language_model

FACTORS = (1, 2, 4, 8)


def perplexities(model: Any, tokenizer: Any, texts: list[str]) -> dict[str, dict[str, float] | None]:
    """Factor -> perplexity and CPU seconds; None where the positions end before."""
    trained, measured = model.config.max_position_embeddings, {}
    for factor in FACTORS:
        if factor > 1 and model.config.position_encoding == "learned":
            measured[str(factor)] = None
            continue
        model.config.max_position_embeddings = factor * trained
        figures, cpu_seconds, _ = timed(lambda: evaluate_language_model(model, tokenizer, texts, True, batch_size=16))
        measured[str(factor)] = {"perplexity": figures["perplexity"], "cpu_seconds": round(cpu_seconds, 1)}
    return measured


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--norm", choices=NORMS, default="pre")
    parser.add_argument("--lines", type=int, default=1200, help="of WikiText-2's test.txt, from its beginning")
    arguments = read_options(parser)
    texts = wikitext("test")[: arguments.lines]
    results: dict[str, Any] = {"norm": arguments.norm, "lines": len(texts), "perplexity": {}}
    print(f"{'':<12}" + "".join(f"{factor:>8} x" for factor in FACTORS))
    for kind in KINDS:
        folder = arguments.folder / Run(kind, arguments.norm, RATE).name
        if not (folder / "config.json").is_file():
            print(f"{kind:<12} no model in {folder}: run benchmarks.position_sweep first")
            continue
        model = AutoModelForCausalLM.from_pretrained(folder)
        results["trained_length"] = model.config.max_position_embeddings
        measured = perplexities(model, AutoTokenizer.from_pretrained(folder), texts)
        cells = ("ends" if one is None else f"{one['perplexity']:.1f}" for one in measured.values())
        print(f"{kind:<12}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
        results["perplexity"][kind] = measured
    if results["perplexity"]:
        write_results("extrapolation", results)


if __name__ == "__main__":
    main()
