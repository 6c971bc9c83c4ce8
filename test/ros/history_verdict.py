"""What a checker has found in a history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Violation(NamedTuple):
    """What must not be, and when."""

    time: int
    rule: str
    sentence: str


@dataclass
class Verdict:
    """What a checker found.

    Attributes
    ----------
    violations : list of Violation
    explained : Counter
        How many commands were explained by what.
    """

    violations: list[Violation] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)

    def found(self, time: Any, rule: str, sentence: str) -> None:
        self.violations.append(Violation(int(time), rule, sentence))

    @property
    def rules(self) -> set[str]:
        return {each.rule for each in self.violations}
