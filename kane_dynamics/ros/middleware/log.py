"""The log of the engine as that of the node."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any


class _NodeHandler(logging.Handler):
    """Passes records on to the logger of a node."""

    def __init__(self, logger: Any) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        text = record.getMessage()
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)


def forward_log(logger: Any) -> Callable[[], None]:
    """Let a node's logger say what this package logs; what ends that."""
    ours, handler = logging.getLogger("kane_dynamics"), _NodeHandler(logger)
    ours.addHandler(handler)
    return lambda: ours.removeHandler(handler)
