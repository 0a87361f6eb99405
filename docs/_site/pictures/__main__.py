# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Write the pictures: `python -m docs._site.pictures`."""

from docs._site.pictures.all import FOLDER, PICTURES, picture

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.svg").write_text(picture(name), encoding="utf-8")
    print(f"{len(PICTURES)} pictures are in {FOLDER}")
