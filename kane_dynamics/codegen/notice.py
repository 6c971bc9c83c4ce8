"""Warnings that are given once in the life of a process."""

from __future__ import annotations

import logging
from collections.abc import Iterable

logger = logging.getLogger("kane_dynamics")

_given: set[str] = set()


def warn_once(subject: str, message: str) -> None:
    """Log a warning, unless one on the same subject was logged before."""
    if subject not in _given:
        _given.add(subject)
        logger.warning(message)


def given() -> frozenset[str]:
    """Subjects on which a warning was logged."""
    return frozenset(_given)


def suppose_given(subjects: Iterable[str]) -> None:
    """Log no warnings on subjects on which another process has given one."""
    _given.update(subjects)
