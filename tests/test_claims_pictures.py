# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""The pictures of docs/claims.md have each effect where its number says, and texts that do not meet."""

import dataclasses
import itertools
import math
import re
from xml.etree import ElementTree

import pytest

pytest.importorskip("scipy")

from benchmarks.claims_page import claims_by_lecture
from benchmarks.claims_pictures import LETTERS, WIDTH, Scale, draw_all, draw_claim, nearest_row, rows_of
from hf_lecture_models.lab.claims.claim import Case, Claim, find_claim
from hf_lecture_models.lab.claims.report import corrected_p_values
from tests.claim_records import record_of, use_claims, write_record

ARMS = {"deep": {}, "flat": {}}
CASES = {
    "short": Case(arms=ARMS),
    "a name that needs two lines because it says much, with an effect of its own size": Case(arms=ARMS, least=4.0),
    "equal & <small>": Case(arms=ARMS, decides=False),
}


def claim_of(cases: dict[str, Case], **fields) -> Claim:
    claim = find_claim("depth")
    return dataclasses.replace(claim, experiment=dataclasses.replace(claim.experiment, cases=cases), **fields)


def drawn(monkeypatch, folder, claim: Claim, means: list[float], spread: float = 0.1) -> ElementTree.Element:
    use_claims(monkeypatch, folder, claim)
    record = record_of(claim, dict(zip(claim.experiment.cases, means, strict=True)), spread)
    write_record(folder, claim, record)
    return ElementTree.fromstring(draw_claim(claim, corrected_p_values()))


def of_class(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in picture.iter() if name in one.get("class", "").split()]


def marks(picture: ElementTree.Element) -> list[tuple[float, float]]:
    """Return where the marks are, without those of the legend."""
    found = [re.findall(r"-?[\d.]+", one.get("transform", "")) for one in of_class(picture, "mark")]
    return [(float(x), float(y)) for x, y in found[len(of_class(picture, "legend")) :]]


def ticks(picture: ElementTree.Element, kind: str = "tick", axis: str = "x") -> dict[float, float]:
    shown = {one.text.replace("−", "-").replace(",", ""): float(one.get(axis)) for one in of_class(picture, kind)}
    return {float(value): place for value, place in shown.items()}


def boxes(picture: ElementTree.Element) -> list[tuple[str, float, float, float, float]]:
    """Return left, top, right and bottom of all texts, with the widths of a wide font."""
    found = []
    for one in picture.iter("{http://www.w3.org/2000/svg}text"):
        kind, x, y, width = one.get("class"), float(one.get("x")), float(one.get("y")), 0.57 * LETTERS * len(one.text)
        left = x - width * ("end" in kind.split()) - width / 2 * ("middle" in kind.split())
        found.append((one.text, left, y - 11, left + width, y + 3))
    return found


def assert_texts_do_not_meet(picture: ElementTree.Element) -> None:
    found = boxes(picture)
    assert all(left >= 0 and right <= WIDTH for _, left, _, right, _ in found)
    for one, other in itertools.combinations(found, 2):
        apart = one[1] >= other[3] or other[1] >= one[3] or one[2] >= other[4] or other[2] >= one[4]
        assert apart, f"{one[0]!r} and {other[0]!r} meet"


def test_effects_are_where_the_axis_says(monkeypatch, tmp_path):
    picture = drawn(monkeypatch, tmp_path, claim_of(CASES), means := [9.0, -6.5, 1.0])
    axis = sorted(ticks(picture).items())
    (low, left), (high, right) = axis[0], axis[-1]
    pixels = (right - left) / (high - low)
    assert [x for x, _ in marks(picture)] == pytest.approx([left + (mean - low) * pixels for mean in means], abs=0.2)
    for row, line in zip(rows_of(claim_of(CASES), {}), of_class(picture, "interval"), strict=True):
        ends = [float(one) for one in re.fullmatch(r"M(\S+) \S+H(\S+)", line.get("d")).groups()]
        assert ends == pytest.approx(
            [left + (one - low) * pixels for one in (row.effect.low, row.effect.high)], abs=0.2
        )
    bands = [(float(one.get("x")), float(one.get("width"))) for one in of_class(picture, "band")]
    expected = [(left + (-least - low) * pixels, 2 * least * pixels) for least in (2, 4, 2)]
    assert bands == [pytest.approx(one, abs=0.2) for one in expected]
    assert "hollow" in of_class(picture, "mark")[2].get("class")
    assert [one.text.split()[-1] for one in of_class(picture, "end")] == ["confirmed", "refuted", "equivalent"]
    assert_texts_do_not_meet(picture)


def test_far_effects_are_logarithmic_outside_of_the_band(monkeypatch, tmp_path):
    picture = drawn(monkeypatch, tmp_path, claim_of(CASES), means := [900.0, -60.5, 1.0])
    axis = ticks(picture)
    unit = axis[2.0] - axis[0.0]

    def place(value: float) -> float:
        bent = value / 2 if abs(value) < 2 else math.copysign(1 + math.log(abs(value) / 2), value)
        return axis[0.0] + unit * bent

    assert [x for x, _ in marks(picture)] == pytest.approx([place(mean) for mean in means], abs=0.3)
    assert list(axis.values()) == pytest.approx([place(value) for value in axis], abs=0.3)
    assert_texts_do_not_meet(picture)


def test_a_variable_makes_curves(monkeypatch, tmp_path):
    cases = {f"{kind}, {at} words": Case(arms=ARMS, at=at) for kind in ("plain", "gated") for at in (8, 128, 32)}
    claim = claim_of({**cases, "beside": Case(arms=ARMS)}, variable="words of a sentence")
    picture = drawn(monkeypatch, tmp_path, claim, [1.0, 8.0, 4.0, -1.0, -9.0, -3.0, 0.5])
    across, up = ticks(picture), sorted(ticks(picture, "level", "y").items())
    assert {8.0, 32.0, 128.0} <= across.keys()
    assert across[128] - across[32] == pytest.approx(across[32] - across[8], abs=0.3)
    (low, bottom), (high, top) = up[0], up[-1]
    points = [(8, 1.0), (32, 4.0), (128, 8.0), (8, -1.0), (32, -3.0), (128, -9.0)]
    pixels = (top - bottom) / (high - low)
    expected = [(across[at], bottom - 5 + (mean - low) * pixels) for at, mean in points]
    assert marks(picture)[:6] == [pytest.approx(one, abs=0.3) for one in expected]
    assert len(marks(picture)) == 7
    assert [one.text for one in of_class(picture, "group")] == ["plain", "gated"]
    assert len([one for one in of_class(picture, "curve") if "L" in one.get("d")]) == 2
    assert_texts_do_not_meet(picture)
    without = drawn(monkeypatch, tmp_path, dataclasses.replace(claim, variable=""), [0.0] * 7)
    assert not of_class(without, "curve")
    assert len(of_class(without, "case")) >= 7


def test_all_claims_are_in_one_picture(monkeypatch, tmp_path):
    claims = [
        dataclasses.replace(claim_of({"one": Case(arms=ARMS)}), id="first"),
        dataclasses.replace(claim_of({"one": Case(arms=ARMS)}), id="second", fact=True, least=1.0),
        dataclasses.replace(claim_of(CASES), id="third"),
        dataclasses.replace(claim_of({"one": Case(arms=ARMS)}), id="fourth", slides=("Y:1",)),
    ]
    use_claims(monkeypatch, tmp_path, *claims)
    for claim, means in zip(claims, ([40.0], [-3.0], [9.0, -6.5, 1.9]), strict=False):
        write_record(tmp_path, claim, record_of(claim, dict(zip(claim.experiment.cases, means, strict=True))))
    p_values = corrected_p_values()
    assert ("second", "one") not in p_values
    picture = ElementTree.fromstring(draw_all(claims_by_lecture(), p_values))
    axis = ticks(picture)
    # In units of the smallest effect that counts; of the third claim, -6.5 of 4 is nearer to it than 9 of 2.
    expected = [axis[1] + (axis[1] - axis[0]) * math.log(20), axis[-1] - (axis[1] - axis[0]) * math.log(3)]
    expected.append(axis[-1] - (axis[1] - axis[0]) * math.log(6.5 / 4))
    assert [x for x, _ in marks(picture)] == pytest.approx(expected, abs=0.3)
    assert nearest_row(claims[2], p_values).effect.mean == pytest.approx(-6.5)
    names = [one.text for one in of_class(picture, "claim")]
    assert names == ["first", "second (fact)", "third", "fourth"]
    verdicts = [one.get("class").split()[1] for one in of_class(picture, "mark")[len(of_class(picture, "legend")) :]]
    assert verdicts == ["confirmed", "refuted", "depends"]
    assert "not measured yet" in [text for text, *_ in boxes(picture)]
    assert_texts_do_not_meet(picture)


def test_other_numbers_make_another_picture_and_the_same_ones_the_same(monkeypatch, tmp_path):
    one, other, again = (
        ElementTree.tostring(drawn(monkeypatch, tmp_path, claim_of(CASES), means))
        for means in ([9.0, 1.0, 1.0], [9.0, 1.0, 1.5], [9.0, 1.0, 1.0])
    )
    assert one == again != other


@pytest.mark.parametrize("scale", [Scale(-0.003, 0.02, 0, 400), Scale(-900, 5, 0, 400, 2.5), Scale(3, 4000, 0, 300, 0)])
def test_ticks_are_in_order_and_apart(scale):
    found = scale.ticks()
    assert len(found) >= 3
    assert all(scale(after) - scale(before) > LETTERS for before, after in itertools.pairwise(found))
    assert 0 <= scale(found[0]) < scale(found[-1]) <= 400
