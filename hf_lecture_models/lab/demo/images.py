# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The images that the demo page reads: a field that sends one as text, and its decoding."""

import base64
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from hf_lecture_models.base.pillow_images import open_image
from hf_lecture_models.lab.demo.answers import LoadedModel
from hf_lecture_models.lab.demo.example_images import example_images
from hf_lecture_models.lab.demo.fields import add_html

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
MAX_PIXELS = 25_000_000
# The browser sends a larger file as a smaller picture, so that a request stays below the guard's limit.
_MAX_BYTES, _MAX_SIDE = 2_000_000, 1024

_READ = """async (...values) => {
  const file = document.getElementById("%s").files[0];
  const read = blob => new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(blob);
  });
  const shrunk = async () => {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, %d / Math.max(picture.width, picture.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(scale * picture.width));
    canvas.height = Math.max(1, Math.round(scale * picture.height));
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/jpeg", 0.9);
  };
  try {
    values[%d] = !file ? "" : file.size <= %d ? await read(file) : await shrunk();
  } catch {
    values[%d] = "unreadable";
  }
  return values;
}"""


def add_image(gradio: Any, name: str, models: Sequence[LoadedModel]) -> tuple[Any, Callable[[int], str]]:
    """Add a field that chooses an image file, and example images, of which a click chooses one and asks.

    gradio's own field uploads a file, which the page's guard refuses.

    Args:
        name: the field's id in the page.
        models: those that read the image.

    Returns:
        An invisible field, and a function of its place among a button's inputs, which returns the script that puts
        the chosen file into it as text.
    """
    accepted = ", ".join(f"image/{form.lower()}" for form in FORMATS)
    label = f'<label for="{name}">Image ({", ".join(FORMATS)})</label>'
    images = {one: image for loaded in models for one, image in example_images(loaded).items()}
    # script.py fills the field and presses the tab's button.
    button = f'<button type="button" data-field="{name}"'
    examples = "".join(
        f'{button} title="{one}"><img alt="example: {one}" src="{data_url(image)}"></button>'
        for one, image in images.items()
    )
    file = f'{label}<input type="file" id="{name}" accept="{accepted}">'
    choice = f'<p class="note">or one of these, drawn by this page:</p><div class="examples">{examples}</div>'
    add_html(gradio, f'<div class="hfl upload">{file}{choice}</div>')
    hidden = gradio.Textbox(visible=False, label="Image")
    return hidden, lambda place: _READ % (name, _MAX_SIDE, place, _MAX_BYTES, place)


def decoded_image(text: str) -> Any:
    """Return the upright Pillow image in RGB that a page sent as a data URL.

    Raises:
        ValueError: there is no image, it is not of `FORMATS`, or has more than `MAX_PIXELS` pixels.
    """
    from PIL import Image

    if not isinstance(text, str) or not text:
        raise ValueError("there is no image yet: choose a file, or click on an example")
    try:
        image = Image.open(BytesIO(base64.b64decode(text.partition(",")[2], validate=True)), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise Image.DecompressionBombError
        image.load()
    except Image.DecompressionBombError:
        raise ValueError(f"the image is too large: this page takes at most {MAX_PIXELS:,} pixels") from None
    except Exception:  # a damaged file may raise anything
        raise ValueError(f"this file cannot be read as an image: choose {', '.join(FORMATS)}") from None
    return open_image(image)


def data_url(image: Any) -> str:
    """Return a Pillow image as a PNG in a data URL, at most 240 pixels wide and high."""
    small, file = image.convert("RGB"), BytesIO()
    small.thumbnail((240, 240))
    small.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
