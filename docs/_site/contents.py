# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The table of contents: which files of the repository are pages of the site, and in which order."""

from pathlib import Path

from hf_lecture_models.lab.live.pages import PAGES

INDEX = "README.md"

# A page that no section names stands in the last one, so that a new file in docs/ needs no line here.
SECTIONS: dict[str, list[str]] = {
    "Course": [
        "docs/sixty_minutes.md",
        "docs/lecture_map.md",
        "docs/exercises.md",
        "docs/claims.md",
        "docs/errata.md",
        "docs/glossary.md",
    ],
    "Live": ["docs/live/README.md", *(f"docs/live/{name}.md" for name in PAGES)],
    "Notebooks": ["docs/notebooks/README.md", "docs/notebooks/*.md"],
    "Models": [
        f"hf_lecture_models/models/{name}/README.md"
        for name in (
            "ngram",
            "bag_of_words",
            "padded_mlp",
            "feed_forward",
            "recurrent",
            "word2vec",
            "elmo",
            "recurrent_seq2seq",
            "self_attention",
            "transformer",
            "gpt1",
            "bert",
            "transformer_xl",
            "efficient_transformer",
            "vit",
            "image_captioning",
            "graves",
            "*",
        )
    ],
    "Use": [
        "docs/quickstart.md",
        "docs/usage.md",
        "docs/tokenizers.md",
        "docs/training.md",
        "docs/fine_tuning.md",
        "docs/seeing.md",
        "docs/clients.md",
    ],
    "Reference": [
        "api/index.rst",
        "docs/code.md",
        "docs/versions.md",
        "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md",
        "CHANGELOG.md",
    ],
    "Research notes": ["docs/notes/*.md"],
    "Results": ["docs/speed.md", "benchmarks/README.md", "hub_cards/README.md"],
    "Topics": ["docs/*.md"],
}

SOURCE_FOLDER = "hf_lecture_models/models"


def sections(files: set[str]) -> dict[str, list[str]]:
    """Return the pages of each section, each page once, where it is named first.

    Args:
        files: the paths of all files that could be pages, from the repository's root.
    """
    seen = {INDEX}
    result: dict[str, list[str]] = {}
    for caption, patterns in SECTIONS.items():
        pages = [path for pattern in patterns for path in sorted(files) if _matches(path, pattern)]
        result[caption] = [path for path in dict.fromkeys(pages) if path not in seen]
        seen.update(pages)
    return {caption: pages for caption, pages in result.items() if pages}


def children(page: str, files: set[str]) -> list[str]:
    """Return the pages below a page: the cards below their list, a model's source files below its page."""
    folder = page.rpartition("/")[0]
    if page == "hub_cards/README.md":
        return [path for path in sorted(files) if _matches(path, "hub_cards/*.md") and path != page]
    if page.startswith(f"{SOURCE_FOLDER}/") and page.endswith("/README.md"):
        sources = [path for path in files if path.startswith(f"{folder}/") and path.endswith(".py")]
        return sorted(sources, key=lambda path: ("/modeling_" not in path, path.count("/"), path))
    return []


def _matches(path: str, pattern: str) -> bool:
    # Unlike fnmatch, a star stays within a folder.
    return path.count("/") == pattern.count("/") and Path(path).match(pattern)
