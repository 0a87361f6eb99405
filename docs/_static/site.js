// Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
// What the theme leaves out for keyboards and for programs that read pages aloud.

// The Tab key reaches what scrolls, so that the arrow keys can move it.
function reachWhatScrolls() {
  for (const block of document.querySelectorAll("pre, .table-wrapper, .equations, div.math, .source-code")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.setAttribute("aria-level", "2");
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Pages of the site");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
  reachWhatScrolls();
});
window.addEventListener("resize", reachWhatScrolls);
