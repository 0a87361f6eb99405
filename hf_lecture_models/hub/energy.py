# Copyright 2026 The hf_lecture_models authors. Licensed under the Apache License, Version 2.0.
"""Estimate the energy of a training from its CPU seconds, and the carbon dioxide of that energy (slide Y:650).

Both are products of a recorded time and assumed constants; nothing is measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# An assumption that every card names: what one busy core of a server draws, memory and power supply included.
# Green Algorithms' table of processors (data/latest/TDP_cpu.csv) has 4 to 15 watts per core for AMD EPYC, and takes 12
# for an unknown processor.
WATTS_PER_CORE = 10
# Grams of CO2 equivalents per kWh, the mean of the world's electricity in 2023 (Ember, July 2024).
GRAMS_PER_KWH = 481
MIX = "the world's average electricity of 2023 (Ember)"


@dataclass(frozen=True)
class Energy:
    """The estimated energy of a training, and its emissions at the assumed mix of electricity."""

    cpu_seconds: float
    watt_hours: float
    grams: float
    """Of CO2 equivalents."""


def estimate_energy(training: Mapping[str, Any]) -> Energy | None:
    """Return an estimate for a training that ran on the CPU alone; None for any other.

    >>> estimate_energy({"cpu_seconds": 3600.0, "device": "cpu"})
    Energy(cpu_seconds=3600.0, watt_hours=10.0, grams=4.81)
    >>> estimate_energy({"cpu_seconds": 3600.0, "device": "cuda"})

    Args:
        training: the values of `facts.training_record`.
    """
    seconds = training.get("cpu_seconds")
    if seconds is None or training.get("device") != "cpu":
        return None
    watt_hours = seconds * WATTS_PER_CORE / 3600
    return Energy(seconds, watt_hours, watt_hours * GRAMS_PER_KWH / 1000)


def describe_energy(facts: Mapping[str, Any]) -> list[str]:
    """Return the lines on a card about the energy and the emissions of the training.

    >>> print(*describe_energy({"training": {"cpu_seconds": 720.0, "device": "cpu"}}), sep="\\n")
    energy: about 2 Wh, estimated: 720 CPU seconds of learning, at an assumed 10 watts for a busy core; not measured
    carbon dioxide: about 0.96 g, estimated: at 481 g per kWh, the world's average electricity of 2023 (Ember)
    >>> describe_energy({"training": {"cpu_seconds": 720.0, "device": "cuda"}})
    ['energy: not measured']
    """
    energy = estimate_energy(facts.get("training") or {})
    if energy is None:
        return ["energy: not measured"]
    lines = [
        f"energy: {_about(energy.watt_hours)} Wh, estimated: {energy.cpu_seconds:,.4g} CPU seconds of learning, "
        f"at an assumed {WATTS_PER_CORE} watts for a busy core; not measured",
        f"carbon dioxide: {_about(energy.grams)} g, estimated: at {GRAMS_PER_KWH} g per kWh, {MIX}",
    ]
    if _is_fine_tuned(facts):
        lines.append("the training of the weights that this one began with is not counted")
    return lines


def emissions_metadata(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the Hub's metadata `co2_eq_emissions` of a card, in grams; None where nothing can be estimated.

    >>> found = emissions_metadata({"training": {"cpu_seconds": 720.0, "device": "cpu"}})
    >>> found["emissions"], found["training_type"], found["hardware_used"]
    (0.96, 'pre-training', 'CPU')
    >>> print(found["source"])  # doctest: +ELLIPSIS
    estimate: CPU seconds of learning at 10 watts per busy core and 481 g CO2 per kWh, the world's average electri...
    """
    energy = estimate_energy(facts.get("training") or {})
    if energy is None:
        return None
    processor = (facts.get("environment") or {}).get("processor")
    return {
        "emissions": float(f"{energy.grams:.2g}"),
        "source": (
            f"estimate: CPU seconds of learning at {WATTS_PER_CORE} watts per busy core and "
            f"{GRAMS_PER_KWH} g CO2 per kWh, {MIX}"
        ),
        "training_type": "fine-tuning" if _is_fine_tuned(facts) else "pre-training",
        "hardware_used": f"CPU ({processor})" if processor else "CPU",
    }


def _is_fine_tuned(facts: Mapping[str, Any]) -> bool:
    return bool((facts.get("recipe") or {}).get("from_pretrained"))


def _about(amount: float) -> str:
    return f"about {amount:.2g}" if amount >= 0.01 else "less than 0.01"
