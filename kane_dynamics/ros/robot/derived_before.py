"""Which models were derived before: what they are compiled to is in the cache, and soon loaded.

So a node that starts again with the robot it had need not start a process that derives nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from kane_dynamics.codegen.cache import Cache, open_cache
from kane_dynamics.codegen.compiler import find_compiler
from kane_dynamics.codegen.identity import (
    digest,
    interpreter_identity,
    machine_identity,
    package_identity,
)
from kane_dynamics.ros.parameters.settings import Settings

_MARK = b"derived"


def cache_of(settings: Settings) -> Cache:
    """Where models are kept."""
    return open_cache(settings.cache_dir or True)


def was_derived(description: str, settings: Settings, silent: Mapping[str, float]) -> bool:
    """Whether the same model was remembered, on this machine and with this package."""
    return cache_of(settings).read(_key(description, settings, silent)) == _MARK


def remember(description: str, settings: Settings, silent: Mapping[str, float]) -> None:
    """Say that all functions of a model are compiled and in the cache."""
    cache_of(settings).write(_key(description, settings, silent), _MARK)


def _key(description: str, settings: Settings, silent: Mapping[str, float]) -> str:
    compiler = find_compiler()
    asked = (description, settings, sorted(silent.items()))
    identities = package_identity(), machine_identity(), interpreter_identity()
    return digest("model", repr(asked), compiler.identity if compiler else "", *identities)
