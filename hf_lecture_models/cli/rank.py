# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""`hf-lecture rank`: groups of sentences, the most probable first."""

import sys
from typing import Any

from transformers import AutoModelForCausalLM

from hf_lecture_models.cli.io import complete_groups, line_chunks, print_json, print_tokens, print_zeros
from hf_lecture_models.evaluation.sentence_ranking import SentenceRankingPipeline
from hf_lecture_models.loading import load_model


def run(name: str, files: list[str], probability: str, tokens: bool, json: bool, batch_size: int) -> None:
    """Print each group's sentences, best first, as soon as the group is complete.

    Raises:
        ValueError: the input has no sentences.
    """
    model, tokenizer = load_model(name, AutoModelForCausalLM)
    ranker = SentenceRankingPipeline(model=model, tokenizer=tokenizer, task="sentence-ranking", device=model.device)
    number = zeros = 0
    chunks = line_chunks(files, batch_size, between_files="")
    for groups in complete_groups([line if line.strip() else "" for line in lines] for lines in chunks):
        for ranking in ranker(groups, probability=probability, return_tokens=tokens, batch_size=batch_size):
            if json:
                print_json({"group": number, "ranking": ranking})
            else:
                _print_ranking(ranking, first=number == 0)
            number += 1
            zeros += sum("zeros" in entry for entry in ranking)
        sys.stdout.flush()
    print_zeros(zeros)
    if not number:
        raise ValueError("nothing to rank: give sentences, one per line, and a blank line between groups")


def _print_ranking(ranking: list[dict[str, Any]], first: bool) -> None:
    if not first:
        print()
    for rank, entry in enumerate(ranking, start=1):
        print(f"{rank:4} {entry['log_prob']:14.4f} {entry['log_prob_per_token']:10.4f}  {entry['sequence']}")
        print_tokens(entry.get("tokens", []))
