# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page in a browser, as its tests use it: open the page, open a tab, ask.

gradio builds the fields of a tab when the tab is opened for the first time, and writes their first values once more in
the next animation frame. Nobody can see a field before that frame, but a test can fill it, and then its text is lost.
On a busy machine frames are late. So the frames of these pages always are, and after each step that builds fields the
helpers wait until the page is at rest.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 120
"""Seconds after which the page is taken to hang."""
_LATE_FRAMES = """
const frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = call => frame(time => setTimeout(() => call(time), 50));
"""
# Three frames without a change of the document, a transition or an answer that is still computed.
_AT_REST = """async () => {
  let changed = false;
  const watch = new MutationObserver(() => { changed = true; });
  watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  const moves = () => document.querySelector(".pending")
    || document.getAnimations().some(one => one instanceof CSSTransition);
  for (let quiet = 0; quiet < 3;) {
    changed = false;
    await new Promise(done => requestAnimationFrame(done));
    quiet = changed || moves() ? 0 : quiet + 1;
  }
  watch.disconnect();
  return true;
}"""


@contextmanager
def opened(browser: Any, address: str, width: int = 1280, scheme: str = "light") -> Iterator[Any]:
    """Yield a page that is ready for use; it must show no dialog, raise no error and ask no other machine."""
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    view.set_default_timeout(1000 * PATIENCE)
    view.add_init_script(_LATE_FRAMES)
    said: list[str] = []
    asked: list[str] = []
    view.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    view.on("pageerror", lambda error: said.append(str(error)))
    view.on("request", lambda request: asked.append(request.url))
    try:
        view.goto(address)
        view.wait_for_selector("button[role=tab]")
        wait_until_at_rest(view)
        yield view
        hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
        assert (said, hosts) == ([], {"127.0.0.1"})
    finally:
        view.close()


def wait_until_at_rest(view: Any) -> None:
    """Wait until the page has built its fields and shows its answers."""
    view.wait_for_function(_AT_REST)


def open_tab(view: Any, *names: str) -> None:
    """Open a tab, or a tab in a tab, also where it is in the menu of those for which there is no room."""
    for depth, name in enumerate(names):
        tab = view.get_by_role("tab", name=name, exact=True).locator("visible=true")
        if tab.count():
            tab.first.click()
        else:
            # The row of tabs in a tab has a menu of its own, after that of the page.
            menus = view.locator(".overflow-menu > button:visible")
            (menus.last if depth else menus.first).click()
            view.locator(".overflow-dropdown button:visible", has_text=name).first.click()
        wait_until_at_rest(view)


def ask(view: Any, button: str | None, answer: str) -> None:
    """Press a button (None: pressed before), and wait for its answer, a selector that matched nothing before."""
    from playwright.sync_api import TimeoutError

    if button is not None:
        view.click(f"#button-{button}")
    try:
        view.wait_for_selector(answer)
    except TimeoutError:
        errors = view.locator(".error:visible").all_inner_texts()
        raise AssertionError(f"the button {button} brought no {answer}; errors on the page: {errors}") from None
    wait_until_at_rest(view)
