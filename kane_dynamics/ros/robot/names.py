"""Names of joints in messages: those that are there twice, and how to show many of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SHOWN = 8


def repeated(names: Iterable[str]) -> str | None:
    """The first name that has been there before; None if all differ.

    >>> repeated(["a", "b", "a", "b"])
    'a'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def shown(names: Sequence[str]) -> str:
    """Names for a sentence, the first few of many.

    >>> shown(["a", "b"])
    "'a', 'b'"
    """
    text = ", ".join(repr(name) for name in names[:_SHOWN])
    return text if len(names) <= _SHOWN else f"{text} and {len(names) - _SHOWN} more"
