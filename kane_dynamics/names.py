"""What to say about a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterable

from kane_dynamics.errors import ArgumentError

_SHOWN = 12


def unknown_name(what: str, name: object, known: Iterable[str]) -> ArgumentError:
    """Return the error for an unknown `name` of a `what`, with the names it may be taken for.

    >>> print(unknown_name("joint", "elbo", ["shoulder", "elbow"]))
    there is no joint 'elbo': expected one of 'elbow', 'shoulder'
    """
    # imported here, because only a mistake needs it
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=str(name))

    def likeness(candidate: str) -> float:
        matcher.set_seq1(candidate)
        return matcher.ratio()

    nearest = sorted(known, key=likeness, reverse=True)
    if not nearest:
        return ArgumentError(f"there is no {what} {name!r}: there are none")
    shown = ", ".join(repr(candidate) for candidate in nearest[:_SHOWN])
    more = f" and {len(nearest) - _SHOWN} more" if len(nearest) > _SHOWN else ""
    return ArgumentError(f"there is no {what} {name!r}: expected one of {shown}{more}")
