# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The demo page's own script: arrow keys in the rows of tabs, and example images, which fill a field and are sent."""

TAB_KEYS = """
  // The row of tabs that holds an element, the names of all its tabs, and the tab that is open. gradio keeps tabs
  // without room in a menu, and the names of all tabs in a hidden copy of the row.
  const rowOf = one => one.closest?.(".tab-wrapper");
  const namesOf = row => [...row.querySelectorAll("[aria-hidden=true] button")].map(one => one.textContent.trim());
  const openTab = row => row.querySelector("[role=tab][aria-selected=true]");
  // The key Tab reaches a row at its open tab alone.
  const mark = () => document.querySelectorAll(".tab-wrapper [role=tab]").forEach(
    one => { one.tabIndex = one.getAttribute("aria-selected") === "true" ? 0 : -1; });
  new MutationObserver(mark).observe(
    document.body, {subtree: true, childList: true, attributes: true, attributeFilter: ["aria-selected"]});
  mark();
  const focusOpen = (row, name, frames) => {
    const tab = openTab(row);
    if (tab && tab.textContent.trim() === name) tab.focus();
    else if (frames) requestAnimationFrame(() => focusOpen(row, name, frames - 1));
  };
  const open = (row, name) => {
    [...row.querySelectorAll("[role=tab], .overflow-dropdown button")]
      .find(one => one.textContent.trim() === name).click();
    focusOpen(row, name, 60);
  };
  document.addEventListener("keydown", event => {
    const row = rowOf(event.target), item = event.target.closest?.(".overflow-dropdown button");
    const more = event.target.closest?.(".overflow-menu > button");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const items = [...row.querySelectorAll(".overflow-dropdown button")];
    const move = (list, now, back, forth) => ({
      [back]: list[(now - 1 + list.length) % list.length], [forth]: list[(now + 1) % list.length],
      Home: list[0], End: list[list.length - 1]})[event.key];
    if (event.target.matches("[role=tab]")) {
      const names = namesOf(row);
      const next = move(names, names.indexOf(event.target.textContent.trim()), "ArrowLeft", "ArrowRight");
      if (!next) return;
      open(row, next);
    } else if (item) {
      const next = move(items, items.indexOf(item), "ArrowUp", "ArrowDown");
      if (next) next.focus();
      else if (event.key === "Enter" || event.key === " ") open(row, item.textContent.trim());
      else if (event.key === "Escape") {
        row.querySelector(".overflow-menu > button").click();
        row.querySelector(".overflow-menu > button").focus();
      } else return;
    } else if (more && event.key === "ArrowDown") {
      if (row.querySelector(".overflow-dropdown.hide")) more.click();
      requestAnimationFrame(() => items[0]?.focus());
    } else return;
    event.preventDefault();
  });
"""
EXAMPLE_IMAGES = """
  document.addEventListener("click", event => {
    const example = event.target.closest?.("button[data-field]");
    if (!example) return;
    const data = atob(example.querySelector("img").src.split(",")[1]);
    const chosen = new DataTransfer();
    const bytes = Uint8Array.from(data, letter => letter.charCodeAt(0));
    chosen.items.add(new File([bytes], `${example.title}.png`, {type: "image/png"}));
    document.getElementById(example.dataset.field).files = chosen.files;
    example.closest("[role=tabpanel]").querySelector("button.primary").click();
  });
"""
SCRIPT = f"() => {{{TAB_KEYS}{EXAMPLE_IMAGES}}}"
"""Runs once, when the page is there."""
