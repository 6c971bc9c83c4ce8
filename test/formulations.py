"""Forward dynamics by one of its formulations, whatever the other would cost."""

from types import SimpleNamespace

import pytest

from kane_dynamics.kane.tree import factorization, forward

FORMULATIONS = ("order n", "factorization")


def keep_to(formulation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let robots loaded from now on, without cache, have their accelerations found this way."""
    by_order_n = formulation == "order n"
    least = 10**9 if by_order_n else -1
    monkeypatch.setattr(factorization, "least_operations", lambda tree: least)
    # On equal terms the mass matrix is factored.
    monkeypatch.setattr(forward, "operations", lambda outputs: SimpleNamespace(total=0))
