# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Example images for the demo page, drawn when the page is made: digits, clothes and scenes.

Grey ones are light on black, as those of scikit-learn's digits, MNIST and Fashion-MNIST are.
"""

from collections.abc import Callable
from typing import Any

from hf_lecture_models.base.traits import trait
from hf_lecture_models.lab.demo.answers import LoadedModel

_SIDE = 160
_LARGEST_DIGITS = 16
"""The pixels of a side up to which a model of grey images is taken to read digits."""
Drawing = Callable[[Any], None]


def _zero(pen: Any) -> None:
    pen.ellipse((30, 4, 134, 156), outline="white", width=22)


def _three(pen: Any) -> None:
    pen.arc((40, 6, 116, 82), 200, 90, fill="white", width=26)
    pen.arc((40, 67, 120, 156), 270, 160, fill="white", width=26)


def _four(pen: Any) -> None:
    pen.line((76, 12, 36, 92, 128, 92), fill="white", width=22, joint="curve")
    pen.line((96, 56, 96, 150), fill="white", width=24)


def _shirt(pen: Any) -> None:
    pen.polygon((52, 24, 108, 24, 146, 52, 126, 76, 112, 66, 112, 146, 48, 146, 48, 66, 34, 76, 14, 52), fill="#c8c8c8")
    pen.pieslice((64, 8, 96, 40), 0, 180, fill="black")


def _trousers(pen: Any) -> None:
    pen.polygon((50, 10, 110, 10, 120, 150, 92, 150, 80, 52, 68, 150, 40, 150), fill="#b4b4b4")


def _bag(pen: Any) -> None:
    pen.arc((50, 16, 110, 100), 180, 360, fill="#a0a0a0", width=10)
    pen.rectangle((20, 62, 140, 138), fill="#d2d2d2")
    pen.line((20, 84, 140, 84), fill="#8c8c8c", width=4)


def _house(pen: Any) -> None:
    pen.rectangle((0, 0, 160, 110), fill="#9ecbf0")
    pen.rectangle((0, 110, 160, 160), fill="#6aa84f")
    pen.rectangle((44, 74, 116, 130), fill="#f1d9b5")
    pen.polygon((34, 76, 80, 34, 126, 76), fill="#a33b2a")
    pen.rectangle((72, 98, 90, 130), fill="#6b4226")


def _boat(pen: Any) -> None:
    pen.rectangle((0, 0, 160, 112), fill="#cfe7fa")
    pen.rectangle((0, 112, 160, 160), fill="#2f6fa8")
    pen.polygon((80, 20, 80, 96, 134, 96), fill="#ffffff")
    pen.polygon((74, 34, 74, 96, 38, 96), fill="#f2e3c6")
    pen.polygon((30, 102, 136, 102, 116, 126, 48, 126), fill="#8a4b2a")


def _ball(pen: Any) -> None:
    pen.rectangle((0, 0, 160, 160), fill="#7bb661")
    pen.ellipse((34, 34, 126, 126), fill="#c8322b")
    pen.ellipse((54, 48, 82, 72), fill="#e88a82")


_DIGITS: dict[str, Drawing] = {"zero": _zero, "three": _three, "four": _four}
_CLOTHES: dict[str, Drawing] = {"shirt": _shirt, "trousers": _trousers, "bag": _bag}
_SCENES: dict[str, Drawing] = {"house": _house, "boat": _boat, "ball": _ball}


def example_images(loaded: LoadedModel) -> dict[str, Any]:
    """Return three Pillow images by name: digits for small grey images, clothes for larger ones, scenes in colour.

    Raises:
        ImportError: Pillow is not installed.
    """
    from PIL import Image, ImageDraw

    grey, side = trait(loaded.model, "num_channels") == 1, trait(loaded.model, "image_size") or _SIDE
    chosen = _SCENES if not grey else _DIGITS if side <= _LARGEST_DIGITS or _names_digits(loaded) else _CLOTHES
    images = {}
    for name, draw in chosen.items():
        image = Image.new("RGB", (_SIDE, _SIDE), "black")
        draw(ImageDraw.Draw(image))
        images[name] = image
    return images


def _names_digits(loaded: LoadedModel) -> bool:
    return set(loaded.model.config.id2label.values()) == set("0123456789")
