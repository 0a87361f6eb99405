# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Colours of surprisal, and the page's style sheet."""

# Edges in bits, and background and ink of each step between them. The backgrounds darken steadily from yellow to blue,
# so that they keep their order for colour-blind eyes and in grey (ColorBrewer's YlGnBu).
EDGES = (1.0, 2.0, 4.0, 8.0, 16.0)
STEPS = (
    ("#ffffd9", "#111111"),
    ("#c7e9b4", "#111111"),
    ("#7fcdbb", "#111111"),
    ("#41b6c4", "#111111"),
    ("#225ea8", "#ffffff"),
    ("#081d58", "#ffffff"),
)


def step(bits: float) -> int:
    """Return the index into `STEPS`.

    >>> [step(bits) for bits in (0, 0.99, 1, 5, 16, float("inf"))]
    [0, 0, 1, 3, 5, 5]
    """
    return sum(bits >= edge for edge in EDGES)


def step_name(index: int) -> str:
    """Return the range of a step in bits.

    >>> step_name(0), step_name(3), step_name(5)
    ('< 1', '4–8', '≥ 16')
    """
    if index == 0:
        return f"< {EDGES[0]:g}"
    return f"≥ {EDGES[-1]:g}" if index == len(EDGES) else f"{EDGES[index - 1]:g}–{EDGES[index]:g}"


_COLOURS = "\n".join(
    f".hfl .step{index}, .hfl .step{index} * {{ background: {background}; color: {ink}; }}"
    for index, (background, ink) in enumerate(STEPS)
)

# Backgrounds of tags, all light under the same dark ink (ColorBrewer's Pastel1 and Set3); the first is for no tag.
TAG_COLOURS = (
    "#ffffff",
    "#fbb4ae",
    "#b3cde3",
    "#ccebc5",
    "#decbe4",
    "#fed9a6",
    "#ffffb3",
    "#e5d8bd",
    "#fddaec",
    "#8dd3c7",
)
TAG_INK = "#111111"

# The accent on the light and the dark page. White on the first has a contrast of 5.5 to 1, and the first on white too.
ACCENT, ACCENT_HOVER, ACCENT_ON_DARK = "#0f766e", "#115e59", "#2dd4bf"

THEME = {
    "button_primary_background_fill": ACCENT,
    "button_primary_background_fill_dark": ACCENT,
    "button_primary_background_fill_hover": ACCENT_HOVER,
    "button_primary_background_fill_hover_dark": ACCENT_HOVER,
    "button_primary_text_color": "#ffffff",
    "button_primary_text_color_dark": "#ffffff",
    "body_text_color_subdued": "#52525b",
    "body_text_color_subdued_dark": "#d4d4d8",
    "block_info_text_color": "#52525b",
    "block_info_text_color_dark": "#d4d4d8",
    "input_placeholder_color": "#5f5f68",
    "input_placeholder_color_dark": "#d4d4d8",
}
"""The theme's colours that are too pale in gradio's own theme: texts need a contrast of 4.5 to 1."""

_TAGS = "\n".join(
    f".hfl .tag{index}, .hfl .tag{index} * {{ background: {background}; color: {TAG_INK}; }}"
    for index, background in enumerate(TAG_COLOURS)
)

CSS = (
    f":root {{ --color-accent: {ACCENT}; }}\n.dark {{ --color-accent: {ACCENT_ON_DARK}; }}"
    """
:focus-visible { outline: 3px solid var(--color-accent) !important; outline-offset: 2px; }
::placeholder { opacity: 1 !important; }
.hfl.upload label { display: block; margin-bottom: 0.3rem; }
.hfl.upload input { max-width: 100%; }
.hfl .examples { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.hfl .examples button { border: 1px solid var(--border-color-primary); border-radius: 6px; padding: 3px; }
.hfl .examples img { width: 4.5rem; height: 4.5rem; display: block; }
.hfl summary { cursor: pointer; padding: 0.2rem 0; }
.hfl ul { list-style: disc; padding-left: 1.2rem; }
.hfl .text.words { max-height: 9rem; }
"""
    """
.hfl { line-height: 1.5; overflow-wrap: anywhere; }
.hfl h1 { font-size: 1.6rem; font-weight: 700; }
.hfl [class*=step], .hfl .word { unicode-bidi: isolate; }
.hfl table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; border: none; }
.hfl th, .hfl td { padding: 0.25rem 0.5rem; text-align: left; border: none; font-weight: normal;
  border-bottom: 1px solid var(--border-color-primary); overflow-wrap: break-word; }
.hfl thead th { font-weight: 600; }
.hfl td.number, .hfl th.number { text-align: right; font-variant-numeric: tabular-nums; }
.hfl td.number { white-space: nowrap; }
.hfl td.token { font-family: var(--font-mono); min-width: 7em; }
.hfl td.bar { width: 40%; min-width: 3em; }
.hfl td.bar div { height: 0.9rem; min-width: 1px; background: #225ea8; border-radius: 2px; }
.dark .hfl td.bar div { background: #7fcdbb; }
.hfl .wide { overflow-x: auto; }
.hfl .picture { max-width: 100%; height: auto; background: #ffffff; }
.hfl .picture.small { width: 9rem; image-rendering: pixelated; }
.hfl .special { font-style: italic; }
.hfl .text { white-space: pre-wrap; padding: 0.6rem 0.8rem; border: 1px solid var(--border-color-primary);
  border-radius: 6px; max-height: 24rem; overflow-y: auto; }
.hfl .new { background: #c7e9b4; color: #111111; border-radius: 3px; }
.hfl .note { font-size: 0.9em; margin: 0.4rem 0; }
.hfl .error { border-left: 4px solid #b3261e; padding: 0.4rem 0.8rem; }
.hfl .legend { margin: 0.4rem 0; }
.hfl .legend span { display: inline-block; padding: 0.1rem 0.5rem; font-size: 0.85em; }
.hfl .sentence { padding: 0.5rem 0; border-bottom: 1px solid var(--border-color-primary); }
.hfl .sentence b { font-variant-numeric: tabular-nums; }
.hfl .pieces { display: flex; flex-wrap: wrap; gap: 3px; margin-top: 0.3rem; }
.hfl .piece { display: inline-flex; flex-direction: column; align-items: center; padding: 0.05rem 0.3rem;
  border-radius: 4px; border: 1px solid rgba(128, 128, 128, 0.35); max-width: 100%; }
.hfl .piece small, .hfl .pair small { font-size: 0.72em; font-variant-numeric: tabular-nums; line-height: 1.3; }
.hfl .unknown { text-decoration: underline dotted 2px; }
.hfl small .unknown { text-decoration-thickness: 1px; }
.hfl .pair { display: inline-flex; flex-direction: column; text-align: center; max-width: 100%; margin-bottom: 0.3rem; }
.hfl .pair small { padding: 0 0.3rem; }
""" + _TAGS + "\n" + _COLOURS
)
