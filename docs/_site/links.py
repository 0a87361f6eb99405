# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Links between files of the repository, as links between pages of the site."""

import posixpath
import re
from collections.abc import Callable

LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(?=[)#])")


NOTEBOOK = re.compile(r"docs/notebooks/\d\d_\w+\.md")
# "file", "folder" or None for a path from the repository's root that does not exist.
KindOf = Callable[[str], str | None]


def rewrite_links(text: str, page: str, kind_of: KindOf) -> tuple[str, set[str]]:
    """Return a page's text with the links of the site, and the files of the repository that it links.

    A link to a Python file leads to the page of its source, one to a folder to the README or the list of its files, and
    one to the README to the index. All other links stay: the site has the repository's folders.

    Args:
        text: Markdown.
        page: the path of the page, from the repository's root.
        kind_of: "file", "folder" or None for a path from the root that does not exist.

    >>> rewrite_links("[x](../a/b.py#L3), [y](../README.md)", "docs/p.md", lambda path: "file")
    ('[x](../a/b.py.rst), [y](../index.md)', {'README.md', 'a/b.py'})
    """
    linked: set[str] = set()

    def replace(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), match[1]))
        kind = kind_of(path)
        if kind is None:
            return match[1]
        if kind == "folder":
            path = f"{path}/README.md" if kind_of(f"{path}/README.md") else f"{path}/"
        linked.add(path)
        return posixpath.relpath(page_file(path), posixpath.dirname(page) or ".")

    text = LINK.sub(replace, text)
    return re.sub(r"(\]\([^)\s#]+\.py\.rst)#L\d+(?:-L\d+)?(?=\))", r"\1", text), linked


def page_file(path: str) -> str:
    """Return where the page of a file is in the folder that Sphinx reads; that of a notebook has its outputs.

    >>> [page_file(path) for path in ("README.md", "docs/usage.md", "a/b.py", "training/recipes/")]
    ['index.md', 'docs/usage.md', 'a/b.py.rst', 'training/recipes/index.md']
    """
    if path == "README.md":
        return "index.md"
    if path.endswith("/"):
        return f"{path}index.md"
    if is_notebook(path):
        return f"{path.removesuffix('.md')}.ipynb"
    return f"{path}.rst" if path.endswith(".py") else path


def is_notebook(path: str) -> bool:
    """Return True for the path of a notebook, which is a text file in MyST Markdown."""
    return NOTEBOOK.fullmatch(path) is not None
