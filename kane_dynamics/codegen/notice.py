"""Warnings that are given once in the life of a process."""

from __future__ import annotations

import logging

logger = logging.getLogger("kane_dynamics")

_given: set[str] = set()


def warn_once(subject: str, message: str) -> None:
    """Log a warning, unless one on the same subject was logged before."""
    if subject not in _given:
        _given.add(subject)
        logger.warning(message)
