# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write the folder that Sphinx reads from the repository's own files: `python -m docs._site.gather FOLDER`.

Nothing is copied by hand: a page of the site is a file of the repository with its links rewritten, a Python file beside
its comments, or a list made here. What links lead to is taken along.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from docs._site.contents import INDEX, children, sections
from docs._site.links import page_file, rewrite_links
from docs._site.sources import source_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["*.md", "docs/*.md", "docs/live/*.md", "docs/notebooks/*.md", "hub_cards/*.md", "benchmarks/README.md"]
SOURCES = ["hf_lecture_models/models/**/*.py"]
# Their sources are pages only where a page links them; the reference documents nothing of them.
WITHOUT_REFERENCE = {"cli", "data", "io", "trainer"}
PACKAGE_PAGES = ["hf_lecture_models/models/*/README.md"]


@dataclass
class Site:
    """The pages of the site, by their files in the folder that Sphinx reads.

    Attributes:
        texts: the pages, as Markdown or reStructuredText.
        copies: files that are copied as they are, by their paths in the repository.
        links: the files that each page links, from the root of the repository.
    """

    texts: dict[str, str] = field(default_factory=dict)
    copies: set[str] = field(default_factory=set)
    links: dict[str, set[str]] = field(default_factory=dict)


def gather(root: Path = ROOT, reference: dict[str, str] | None = None) -> Site:
    """Return the site of a repository.

    Args:
        root: the repository.
        reference: pages of the reference, by file; with them, the sources of all that they document are pages.
    """
    site = Site(texts=dict(reference or {}))
    known = {str(path.relative_to(root)) for pattern in PAGES + PACKAGE_PAGES for path in root.glob(pattern)}
    known |= {str(path.relative_to(root)) for pattern in SOURCES for path in root.glob(pattern) if _has_code(path)}
    sources: set[str] = set()
    for folder in (root / "hf_lecture_models").iterdir() if reference else ():
        files_of_folder = [folder] if folder.suffix == ".py" else folder.rglob("*.py")
        sources |= {str(path.relative_to(root)) for path in files_of_folder if folder.name not in WITHOUT_REFERENCE}
    todo = sorted(known | sources)
    while todo:
        page = todo.pop()
        linked = _add(site, root, page)
        site.links[page] = linked
        todo += sorted(linked - site.links.keys() - set(todo))
    files = known | ({"api/index.rst"} & site.texts.keys())
    for page in known - {INDEX}:
        site.texts[page_file(page)] += _toctree(page, children(page, known))
    site.texts[page_file(INDEX)] += "".join(
        _toctree(INDEX, pages, caption) for caption, pages in sections(files).items()
    )
    return site


def write(site: Site, root: Path, folder: Path) -> None:
    """Write a site; files that did not change keep their times, so that Sphinx reads only what is new."""
    wanted = {*site.texts, *site.copies}
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for name, text in site.texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
    for name in site.copies:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target)


def _add(site: Site, root: Path, path: str) -> set[str]:
    """Add a file of the repository, and return what it links."""

    def kind_of(name: str) -> str | None:
        return "folder" if (root / name).is_dir() else "file" if (root / name).is_file() else None

    if path.endswith("/"):
        names = sorted(str(file.relative_to(root)) for file in (root / path).iterdir() if file.is_file())
        text = f"# Files of `{path}`\n\n" + "".join(f"- [{Path(name).name}]({Path(name).name})\n" for name in names)
        site.texts[page_file(path)], linked = rewrite_links(f"---\norphan: true\n---\n\n{text}", f"{path}x", kind_of)
        return linked
    if path.endswith(".py"):
        site.texts[page_file(path)] = source_page(path, (root / path).read_text(encoding="utf-8"))
    elif path.endswith(".md"):
        text = _without_front_matter((root / path).read_text(encoding="utf-8"), path)
        if text.startswith("---\njupytext:"):
            text = _with_download(site, path, text)
        site.texts[page_file(path)], linked = rewrite_links(text, path, kind_of)
        return linked
    else:
        site.copies.add(path)
    return set()


def _with_download(site: Site, path: str, text: str) -> str:
    """Return a notebook's text with a link below its title to the same as `.ipynb`, which is added to the site."""
    import jupytext

    file = f"downloads/{Path(path).stem}.ipynb"
    site.texts[file] = jupytext.writes(jupytext.reads(text, fmt="md:myst"), fmt="ipynb")
    link = f"{{download}}`Download this notebook (.ipynb) </{file}>`"
    return re.sub(r"^(# .*)$", rf"\1\n\n{link}", text, count=1, flags=re.MULTILINE)


def _without_front_matter(text: str, path: str) -> str:
    """Return a card without the data for the Hub; a notebook keeps its own."""
    if text.startswith("---\n") and path.startswith("hub_cards/"):
        return text.partition("\n---\n")[2].lstrip("\n")
    return text


def _has_code(path: Path) -> bool:
    return path.name != "__init__.py"


def _toctree(page: str, pages: list[str], caption: str = "") -> str:
    """Return a hidden list of pages, for the sidebar."""
    if not pages:
        return ""
    folder = os.path.dirname(page) or "."
    names = [os.path.relpath(page_file(path), folder).removesuffix(".rst").removesuffix(".md") for path in pages]
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "", "```{toctree}", *options, "", *names, "```", ""])


def main() -> None:
    """Write the site's pages into the folder that is named."""
    from docs._site.reference import reference_pages

    write(gather(reference=reference_pages()), ROOT, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
