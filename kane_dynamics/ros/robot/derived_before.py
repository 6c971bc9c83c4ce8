"""Which models were derived before: what they are compiled to is in the cache, and soon loaded.

So a node that starts again with the robot it had need not start a process that derives nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path

from kane_dynamics.codegen.cache import Cache, open_cache
from kane_dynamics.codegen.compiler import find_compiler
from kane_dynamics.codegen.identity import (
    digest,
    interpreter_identity,
    machine_identity,
    package_identity,
)
from kane_dynamics.ros.parameters.settings import Settings
from kane_dynamics.ros.robot.model import Model
from kane_dynamics.symbolic.program import Operations


def cache_of(settings: Settings) -> Cache:
    """Where models are kept."""
    return open_cache(settings.cache_dir or True)


def remembered(
    description: str, settings: Settings, silent: Mapping[str, float]
) -> dict[str, Operations] | None:
    """Operations of a model whose functions are all in the cache; None if that is not known."""
    content = cache_of(settings).read(_key(description, settings, silent))
    if content is None:
        return None
    return {name: Operations(*counts) for name, counts in json.loads(content).items()}


def remember(
    model: Model, description: str, settings: Settings, silent: Mapping[str, float]
) -> None:
    """Say that all functions of a model are compiled and in the cache, and its operations."""
    counts = {name: astuple(operations) for name, operations in model.operations.items()}
    cache_of(settings).write(_key(description, settings, silent), json.dumps(counts).encode())


def _key(description: str, settings: Settings, silent: Mapping[str, float]) -> str:
    compiler = find_compiler()
    asked = (description, settings, sorted(silent.items()), _content(settings.constraints))
    identities = package_identity(), machine_identity(), interpreter_identity()
    return digest("model", repr(asked), compiler.identity if compiler else "", *identities)


def _content(path: str) -> str:
    """What a file says, which may change while its name stays."""
    if not path:
        return ""
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        return repr(error)
