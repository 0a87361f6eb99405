# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write the folder that Sphinx reads from the repository's own files: `python -m docs._site.gather FOLDER [CACHE]`.

With CACHE, a folder, notebooks have the outputs of their cells; those that are not in the folder are executed.

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
from docs._site.links import KindOf, is_notebook, page_file, rewrite_links
from docs._site.notebooks import NotebookError, add_outputs, link_line, read_notebook, to_json
from docs._site.sources import source_page

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["*.md", "docs/*.md", "docs/live/*.md", "docs/notebooks/*.md", "docs/notes/*.md"]
PAGES += ["hub_cards/*.md", "benchmarks/README.md"]
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


def gather(root: Path = ROOT, reference: dict[str, str] | None = None, cache: Path | None = None) -> Site:
    """Return the site of a repository.

    Args:
        root: the repository.
        reference: pages of the reference, by file; with them, the sources of all that they document are pages.
        cache: a folder for executed notebooks; without one their cells have no outputs.

    Raises:
        NotebookError: a notebook cannot be executed.
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
        linked = _add(site, root, page, cache)
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


def _add(site: Site, root: Path, path: str, cache: Path | None) -> set[str]:
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
        if is_notebook(path):
            return _add_notebook(site, path, text, kind_of, cache)
        site.texts[page_file(path)], linked = rewrite_links(text, path, kind_of)
        return linked
    else:
        site.copies.add(path)
    return set()


def _add_notebook(site: Site, path: str, text: str, kind_of: KindOf, cache: Path | None) -> set[str]:
    """Add a notebook as a file for Jupyter and as a page, with links below its title; and return what it links."""
    notebook = read_notebook(text)
    if cache is not None:
        add_outputs(notebook, Path(path).stem, cache)
    file = f"downloads/{Path(path).stem}.ipynb"
    site.texts[file] = to_json(notebook)
    links: set[str] = set()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source, linked = rewrite_links(cell.source, path, kind_of)
            links |= linked
    title = notebook.cells[0]
    title.source = re.sub(
        r"^(# .*)$", lambda line: f"{line[0]}\n\n{link_line(file)}", title.source, count=1, flags=re.M
    )
    site.texts[page_file(path)] = to_json(notebook)
    return links


def _without_front_matter(text: str, path: str) -> str:
    """Return a card without the data for the Hub."""
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
    names = [os.path.splitext(os.path.relpath(page_file(path), folder))[0] for path in pages]
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "", "```{toctree}", *options, "", *names, "```", ""])


def main() -> None:
    """Write the site's pages into the folder that is named."""
    from docs._site.reference import reference_pages

    folder, *cache = map(Path, sys.argv[1:])
    try:
        site = gather(reference=reference_pages(), cache=cache[0] if cache else None)
    except NotebookError as error:
        sys.exit(f"error: {error}")
    write(site, ROOT, folder)


if __name__ == "__main__":
    main()
