"""Under which the results of the page Tune are known, beside those of single settings."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from loopylatent.settings import LearnSettings, Thresholds


def along_key(distances: str, settings: LearnSettings) -> tuple[str, LearnSettings]:
    """What a sweep along r is of; the radius plays no part."""
    fixed = settings.thresholds
    line = replace(settings, thresholds=Thresholds(0.0, fixed.Lambda, fixed.tau))
    return (distances, line)


def bars_key(distances: str, settings: LearnSettings) -> tuple[str, tuple[str, LearnSettings]]:
    """What a barcode is of."""
    return ("barcode", along_key(distances, settings))


def loops_key(distances: str, r: float) -> tuple[str, str, float]:
    """What a test of the loops is of."""
    return ("loops", distances, r)


def split_digest_key(distances: str, data: str | None) -> Hashable:
    """Under which the digest of the rows learned from and kept apart is known."""
    return ("split digest", distances, data)
