# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Every tab of the demo page in a headless browser, on a wide screen and on a telephone, by keyboard and by axe."""

import io
import os
from dataclasses import replace

import pytest
from huggingface_hub import constants

from hf_lecture_models.lab.demo import page as demo
from hf_lecture_models.lab.demo.defaults import default_models
from tests.browser import axe_script
from tests.interop.demo_view import ask, open_tab, opened, wait_until_at_rest
from tests.interop.installed import need
from tests.lab.demo.small_models import MODELS

pytestmark = pytest.mark.slow
need("gradio")
# A tab, its button and where its answer appears; the last five are in the tab Inside.
TABS = {
    "Continue": ("continue", "#next-tokens table"),
    "Rank": ("rank", "#ranking .sentence"),
    "Compare": ("compare", "#comparison table"),
    "Fill in": ("fill-in", "#fillings table"),
    "Classify": ("classify", "#classes table"),
    "Tag": ("tag", "#tags .piece"),
    "Answer": ("answer", "#answer .text"),
    "Translate": ("translate", "#translation .text"),
    "Images": ("classify-image", "#image-classes table"),
    "Caption": ("caption", "#patches img.picture"),
    "Draw": ("draw", "#drawings img.picture"),
    "Neighbours": ("find-neighbours", "#neighbours table"),
    "Surprisal": ("see-surprisal", "#surprisal table"),
    "Attention": ("see-attention", "#attention .hfl"),
    "Gradients": ("see-gradients", "#gradients .hfl"),
    "Segmentation": ("see-segmentation", "#segmentation .hfl"),
    "Smoothing": ("see-smoothing", "#smoothing .hfl"),
}
INSIDE = list(TABS)[-5:]


@pytest.fixture(scope="module")
def address():
    models = [MODELS[name]() for name in MODELS]
    models.append(replace(MODELS["trigram"](), name="second"))
    page = demo.build_page(models)
    yield demo.launch(page)
    page.close(verbose=False)


# Texts and fields that stick out of the screen, but for those that scroll in an element of their own.
_CUT = """() => [...document.querySelectorAll("input, textarea, button, label, .hfl *, h1")].filter(one => {
  const box = one.getBoundingClientRect();
  const scrolls = one.closest(".wide, [aria-hidden=true]");
  const hidden = !box.width || getComputedStyle(one).visibility === "hidden";
  return !hidden && !scrolls && (box.left < -1 || box.right > innerWidth + 1);
}).map(one => one.outerHTML.slice(0, 120))"""
# Words of tables and names of models that are divided within a word: a line ends in the middle of it.
_DIVIDED = """() => [...document.querySelectorAll(".hfl td, .hfl th")].filter(one => one.offsetWidth).flatMap(one => {
  const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\d.]+/gu)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, word.index);
    range.setEnd(texts.currentNode, word.index + word[0].length);
    if (range.getClientRects().length > 1) found.push(word[0]);
  }
  return found;
})"""
# Contrast of hints in empty fields, which axe does not measure, and names of fields.
_HINTS = """() => [...document.querySelectorAll("input, textarea, select")].filter(one => one.offsetWidth).map(one => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  let behind = one;
  while (behind && (parts(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const under = behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)";
  const style = getComputedStyle(one, "::placeholder");
  const [low, high] = [light(style.color), light(under)].sort((a, b) => a - b);
  const named = one.labels?.length || one.getAttribute("aria-label") || one.getAttribute("aria-labelledby");
  return [one.placeholder ? (high + 0.05) / (low + 0.05) * Number(style.opacity) : 21, Boolean(named), one.outerHTML];
})"""


def ask_in_tab(view, name, image):
    """Ask what stands in a tab's fields, or the image (None: the first example), and wait for the answer."""
    button, answer = TABS[name]
    open_tab(view, *(["Inside"] if name in INSIDE else []), name)
    if name in ("Images", "Caption"):
        if image is None:
            view.locator(".examples button:visible").first.click()
            button = None  # the example presses it
        else:
            view.set_input_files("#classified-image" if name == "Images" else "#captioned-image", image)
    ask(view, button, answer)


def keep_picture(view, name):
    if folder := os.environ.get("HF_LECTURE_DEMO_PICTURES"):
        view.screenshot(path=f"{folder}/{name}.png".replace(" ", "-"), full_page=True)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(390, "light"), *(pytest.param(1280, one, marks=pytest.mark.nightly) for one in ("light", "dark"))],
)
def test_every_tab_answers_and_can_be_read(browser, address, width, scheme):
    """Each with the text that stands in its fields, or an example image; and the words that the models know."""
    problems = {}
    with opened(browser, address, width, scheme) as view:
        assert (view.title(), view.inner_text("h1")) == ("The lectures' models", "The lectures' models")
        view.evaluate(axe_script())
        view.locator("summary").first.click()  # the words that the models know
        for name in TABS:
            ask_in_tab(view, name, None)
            found = [f"cut: {one}" for one in view.evaluate(_CUT)]
            found += [f"divided: {one}" for one in view.evaluate(_DIVIDED)]
            wide = view.evaluate("document.documentElement.scrollWidth")
            found += [f"{wide} pixels wide"] if wide > width else []
            found += [f"hint or label: {one}" for one in view.evaluate(_HINTS) if one[0] < 4.5 or not one[1]]
            for rule in view.evaluate("axe.run()")["violations"]:
                found += [f"{rule['id']}: {one['html'][:150]} {one['failureSummary'][:200]}" for one in rule["nodes"]]
            keep_picture(view, f"{name}-{width}-{scheme}")
            if name == "Continue":
                view.locator("summary").first.click()
            if found:
                problems[name] = found
    assert problems == {}


@pytest.mark.nightly
def test_every_tab_of_the_page_without_arguments_answers(browser, tmp_path, monkeypatch):
    """`hf-lecture demo` trains its own models; all tabs but those of captions and of pen strokes answer by them."""
    need("accelerate", "evaluate", "sacrebleu", "sklearn")
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path / "home"))
    page = demo.build_page(demo.load_models(default_models()))
    refused = {}
    with opened(browser, demo.launch(page)) as view:
        for name in [name for name in TABS if name not in ("Caption", "Draw")]:
            ask_in_tab(view, name, None)
            keep_picture(view, f"own-{name}")
            refused[name] = view.locator(".error:visible").all_inner_texts()
    # The picture of gradients is of all models at once, and says which have none.
    without = ("has no word vectors", "one vector for each token", "state for each position")
    assert all(any(reason in text for reason in without) for text in refused.pop("Gradients"))
    assert list(filter(None, refused.values())) == []
    page.close(verbose=False)


def test_the_page_is_used_by_keyboard_alone(browser, address):
    with opened(browser, address) as view:
        open_tab(view, "Neighbours")
        view.focus("#neighbouring textarea, #neighbouring input")
        view.keyboard.press("Enter")
        view.wait_for_selector("#neighbours table")
        open_tab(view, "Tag")
        view.focus("#tagged textarea")
        view.keyboard.press("Tab")
        assert view.evaluate("document.activeElement.id") == "button-tag"
        assert view.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
        view.keyboard.press("Enter")
        view.wait_for_selector("#tags .piece")


_OPEN = """name => {
  const one = document.activeElement;
  return one.role === "tab" && one.ariaSelected === "true" && one.tabIndex === 0 && one.textContent.trim() === name;
}"""


def test_arrow_keys_move_between_tabs_and_through_their_menu(browser, address):
    names = [name for name in TABS if name not in INSIDE] + ["Inside"]

    def press(key, name):
        view.keyboard.press(key)
        view.wait_for_function(_OPEN, arg=name)

    with opened(browser, address, 390) as view:
        view.focus("[role=tab][aria-selected=true]")
        assert view.locator("[role=tab]:visible").first.inner_text() == names[0]
        for name in names[1:4]:  # the last of these is in the menu
            press("ArrowRight", name)
        press("ArrowLeft", names[2])
        press("Home", names[0])
        press("ArrowLeft", "Inside")
        wait_until_at_rest(view)
        view.locator("[role=tab]:visible", has_text=INSIDE[0]).focus()
        press("End", INSIDE[-1])
        press("ArrowRight", INSIDE[0])
        view.locator(".overflow-menu > button:visible").first.focus()
        view.keyboard.press("ArrowDown")
        view.wait_for_function("document.activeElement.closest('.overflow-dropdown') !== null")
        view.keyboard.press("Escape")
        assert view.evaluate("document.activeElement.ariaLabel") == "More tabs"
        view.keyboard.press("ArrowDown")
        view.wait_for_function("document.activeElement.closest('.overflow-dropdown') !== null")
        view.keyboard.press("End")
        press("Enter", view.evaluate("document.activeElement.textContent.trim()"))


def test_a_file_that_is_no_image_is_refused_in_the_page(browser, address, tmp_path):
    file = io.BytesIO()
    pytest.importorskip("PIL.Image").effect_noise((2400, 2400), 90).save(file, "PNG")
    assert len(file.getvalue()) > 4_000_000  # the browser makes it smaller
    (tmp_path / "large.png").write_bytes(file.getvalue())
    refusal = "#image-classes .error:has-text('{}')"
    with opened(browser, address) as view:
        open_tab(view, "Images")
        ask(view, "classify-image", refusal.format("no image yet"))
        view.set_input_files("#classified-image", tmp_path / "large.png")
        ask(view, "classify-image", "#image-classes table")
        for size in (10, 3_000_000):
            (tmp_path / "text.png").write_bytes(b"x" * size)
            view.set_input_files("#classified-image", tmp_path / "text.png")
            ask(view, "classify-image", refusal.format("cannot be read"))
            view.set_input_files("#classified-image", [])
            ask(view, "classify-image", refusal.format("no image yet"))
