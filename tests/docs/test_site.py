# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The site: pages are reached, links lead somewhere, equations become LaTeX, code stands beside its comments."""

import hashlib
import html
import json
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("docutils", reason="the site needs the extra `docs`")

from docs._site.contents import children, sections
from docs._site.docstrings import docstring_to_rst
from docs._site.equations import equation_rows, to_latex
from docs._site.gather import gather
from docs._site.links import page_file, rewrite_links
from docs._site.notebooks import add_outputs, picture_text, read_notebook
from docs._site.sources import source_page, split_rows
from tests.browser import axe_violations, chromium

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site():
    return gather()


def test_every_page_is_reached_from_the_index(site):
    files = set(site.links)
    listed = {page: set(children(page, files)) for page in files}
    listed["README.md"] |= {page for pages in sections(files).values() for page in pages}
    reached, todo = set(), ["README.md"]
    while todo:
        page = todo.pop()
        reached.add(page)
        todo += (site.links.get(page, set()) | listed.get(page, set())) - reached
    assert files - reached == set()


def test_links_between_pages_lead_to_files_of_the_site(site):
    broken = []
    for name, text in site.texts.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL) if name.endswith(".md") else ""
        for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)\s#]+)", prose):
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            broken += [f"{name}: {target}"] if file not in {*site.texts, *site.copies} else []
    assert broken == []


def test_links_are_rewritten_for_the_site():
    kinds = {
        "hub_cards": "folder",
        "hub_cards/README.md": "file",
        "recipes": "folder",
        "a/b.py": "file",
        "x.json": "file",
    }
    text = "[1](../hub_cards) [2](../recipes) [3](../a/b.py) [4](../x.json) [5](https://x.org/y.py)"
    text += " [6](gone.md) [7](#here)"
    rewritten, linked = rewrite_links(text, "docs/p.md", kinds.get)
    assert re.findall(r"\((.*?)\)", rewritten) == [
        "../hub_cards/README.md",
        "../recipes/index.md",
        "../a/b.py.rst",
        "../x.json",
        "https://x.org/y.py",
        "gone.md",
        "#here",
    ]
    assert linked == {"hub_cards/README.md", "recipes/", "a/b.py", "x.json"}
    assert page_file("README.md") == "index.md"


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("h_t = W_e u_t + W_p[t]", "h_{t} = W_{e} u_{t} + W_{p}[t]"),
        ("o_t = Σ_{s ≤ t} a_t[s] v_s", r"o_{t} = \sum_{s \le t} a_{t}[s] v_{s}"),
        ("z ~ N(μ, Σ)", r"z \sim N(\mu, \Sigma)"),
        ("Σ_12 Σ_22^-1", r"\Sigma_{12} \Sigma_{22}^{-1}"),
        ("√(var(x) + ε)", r"\sqrt{\operatorname{var}(x) + \epsilon}"),
        ("q · k / √head_dim", r"q \cdot k / \sqrt{\mathrm{head\_dim}}"),
        ("x̂_t = v_jᵀ σ²", r"{\hat{x}}_{t} = v_{j}^{\top} \sigma^{2}"),
        ("h→_{l-1} + h~^n", r"{\overrightarrow{h}}_{l-1} + {\tilde{h}}^{n}"),
        ("P(w | h') = p*(hw)", r"P(w \mid h^{\prime}) = p^{*}(hw)"),
        ("ω_k = 10000^(-2k/d)", r"\omega_{k} = 10000^{-2k/d}"),
        ("a = x_1 ... x_m of each head", r"a = x_{1} \ldots x_{m}\, \text{of each head}"),
        ("the norm comes after the sum", None),
        ("(slide R:152, with a in R^m)", None),
        ("f(x = 1", None),
        ("uint64 words - 1", None),
    ],
)
def test_equations_become_latex_and_other_text_stays(text, latex):
    assert to_latex(text) == latex


def test_a_block_of_code_is_not_an_equation():
    assert equation_rows("loss = model(ids, labels=ids).loss") is None
    assert equation_rows("pip install x\nhf-lecture train y = 2") is None
    assert equation_rows("LSTM:  c = σ(f) ⊙ c") == [[("text", "LSTM:"), ("math", r"c = \sigma(f) \odot c")]]


def test_most_equations_of_the_modeling_files_are_mathematics():
    # Each modeling file but those that only put others together has equations in its first docstring.
    for path in sorted((ROOT / "hf_lecture_models" / "models").rglob("modeling_*.py")):
        note = split_rows(path.read_text(encoding="utf-8"))[0].note
        blocks = re.findall(r"(?:^ {4}.*\n?)+", note, re.MULTILINE)
        cells = [cell for block in blocks for row in equation_rows(block) or [] for cell in row]
        assert not blocks or any(kind == "math" for kind, _ in cells), path.name


def test_docstrings_keep_their_sections_lists_and_examples():
    note = "Do it.\n\nArgs:\n    x: (batch, seq), `a_`'s.\n\nDeviations:\n- One\n  more.\n- Two.\n\n>>> f(*x)\n3\n"
    assert docstring_to_rst(note) == [
        *("Do it.", "", "**Args**", "", "- ``x``: (batch, seq), ``a_``\\ 's.", "", "Deviations:", ""),
        *("- One more.", "- Two.", "", ">>> f(*x)", "3", ""),
    ]


def test_each_line_of_code_is_beside_one_note():
    source = (
        '"""Module."""\n\nimport os\n\n# Why.\n@cache\ndef f(x):\n    """Doc."""\n    # Because.\n'
        '    return x  # kept\n\n\nclass A:\n    """Of A."""\n\n    y: int = 1\n    """Of y."""\n'
    )
    assert [(row.note, row.lines[:2], row.name) for row in split_rows(source)] == [
        ("Module.", [3, 4], ""),
        ("Why.\n\nDoc.", [6, 7], "f"),
        ("Because.", [10, 11], ""),
        ("Of A.", [13, 15], "A"),
        ("Of y.", [16], ""),
    ]
    page = source_page("a/b.py", source)
    assert page.count("source-code") == 5
    assert '<span id="f"></span>' in page
    assert "Because." not in "".join(re.findall("<pre>.*</pre>", page))


def test_no_line_of_code_is_lost():
    for path in (ROOT / "hf_lecture_models" / "models").rglob("modeling_*.py"):
        source = path.read_text(encoding="utf-8")
        shown = [number for row in split_rows(source) for number in row.lines]
        assert shown == sorted(set(shown)), path.name
        hidden = [line for number, line in enumerate(source.splitlines(), 1) if number not in shown and line.strip()]
        code = [line for line in hidden if re.match(r"\s*((def|class) \w+[(:]|import \w+$|from \S+ import )", line)]
        assert code == [], path.name


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def stand_in_outputs(notebook, folder):
    """In place of Jupyter, which the notebooks' own tests run: each cell prints a line, or has a picture."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = 1
            shown = {"output_type": "display_data", "data": {"image/png": PIXEL}, "metadata": {}}
            printed = {"output_type": "stream", "name": "stdout", "text": "y = x_1 + 3.310e+00\n"}
            cell.outputs = [shown if picture_text(cell) else printed]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The whole site, its notebooks with outputs of a cache that no execution filled."""
    pytest.importorskip("furo", reason="the site needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    source, target, cache = folder / "source", folder / "html", folder / "cache"
    for path in (ROOT / "docs" / "notebooks").glob("[0-9]*.md"):
        add_outputs(read_notebook(path.read_text(encoding="utf-8")), path.stem, cache, stand_in_outputs)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BUILD": str(folder)}
    for command in (
        ["docs._site.live_models", str(folder), "--steps", "20"],
        ["docs._site.gather", str(source), str(cache)],
        ["sphinx", "-W", "--keep-going", "-q", "-c", "docs", "-b", "html", str(source), str(target)],
    ):
        run = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert run.returncode == 0, run.stderr[-3000:]
    return target


@pytest.mark.slow
@pytest.mark.nightly
def test_the_site_builds_without_a_warning(built):
    page = (built / "hf_lecture_models/models/gpt1/modeling_gpt1.py.html").read_text(encoding="utf-8")
    assert page.count("<math") > 10
    assert 'id="Gpt1Model"' in page
    assert "modeling_gpt1.py.html#Gpt1Model" in (built / "api/gpt1.html").read_text(encoding="utf-8")
    assert (built / "searchindex.js").stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.nightly
def test_built_notebooks_have_outputs_pictures_with_a_text_and_a_file(built):
    names = sorted((ROOT / "docs" / "notebooks").glob("[0-9]*.md"))
    for path in names:
        page = (built / "docs" / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        wanted = [picture_text(cell) for cell in read_notebook(path.read_text(encoding="utf-8")).cells]
        found = re.findall(r'<img alt="([^"]*)" [^>]*src="[^"]*_images', page)
        assert [html.unescape(one) for one in found] == list(filter(None, wanted)), path.stem
        assert "y = x_1 + 3.310e+00" in page
        # Where the link to Colab will lead.
        place = hashlib.md5(f"downloads/{path.stem}.ipynb".encode(), usedforsecurity=False).hexdigest()
        file = (built / "_downloads" / place / f"{path.stem}.ipynb").read_text(encoding="utf-8")
        assert file.count('"output_type"') == sum(cell["cell_type"] == "code" for cell in json.loads(file)["cells"])
    assert len(names) == 14


@pytest.mark.slow
@pytest.mark.nightly
def test_numbers_with_exponents_are_nowhere_mathematics(built):
    for path in built.rglob("*.html"):
        for equation in re.findall(r"<math.*?</math>", path.read_text(encoding="utf-8"), re.DOTALL):
            shown = re.sub(r"<[^>]*>|\s", "", equation)
            assert not re.search(r"\de[-+]\d", shown), (path.name, shown)


@pytest.fixture(scope="module")
def browser():
    yield from chromium()


SHOWN = ("index", "docs/lecture_map", "docs/usage", "docs/claims", "docs/notebooks/03_ngrams_and_smoothing")
LAYOUT = """() => ({
    sizes: ["h1", "h2"].map(name => parseFloat(getComputedStyle(document.querySelector(name)).fontSize)),
    page: document.documentElement.scrollWidth,
    cut: [...document.querySelectorAll(".table-wrapper:has(table.cards)")].filter(
        wrapper => wrapper.scrollWidth > wrapper.clientWidth + 1
    ).length,
    title: document.querySelector(".sidebar-brand-text").scrollWidth <=
        document.querySelector(".sidebar-brand").clientWidth,
})"""


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def test_pages_fit_a_phone_and_a_small_screen(built, browser, width, scheme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name in SHOWN:
        page.goto((built / f"{name}.html").as_uri())
        found = page.evaluate(LAYOUT)
        assert found["sizes"][0] > found["sizes"][1], name
        assert found["page"] <= width, name
        assert found["cut"] == 0, f"{name}: columns of a table are out of sight"
        assert found["title"], name
        assert axe_violations(page) == [], name
    page.close()
