"""``python -m fuzz.guided TARGET COUNT``: inputs that reach new code are mutated further.

Atheris has to be installed; it ends the process at the first input that goes wrong, which is
written to failures/TARGET. What reached new code stays in failures/TARGET-tried for the next run.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["kane_dynamics"]):
    from fuzz.__main__ import FAILURES, corpus, targets

    KNOWN = targets()


def collection(name: str) -> Path:
    """A folder with the inputs to begin with."""
    folder = FAILURES / f"{name}-tried"
    folder.mkdir(parents=True, exist_ok=True)
    (FAILURES / name).mkdir(exist_ok=True)
    for data in (*KNOWN[name].seeds(), *corpus(name)):
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    return folder


def words(name: str, folder: Path) -> list[str]:
    """The option that names the words of a target's language, where it has some."""
    if not KNOWN[name].words:
        return []
    path = folder.with_suffix(".words")
    lines = ("".join(f"\\x{byte:02x}" for byte in word) for word in KNOWN[name].words if word)
    path.write_text("".join(f'"{line}"\n' for line in lines))
    return [f"-dict={path}"]


def main() -> None:
    name, count = sys.argv[1], int(sys.argv[2])
    target, folder = KNOWN[name], collection(name)
    logging.disable(logging.CRITICAL)
    options = [
        f"-runs={count}",
        f"-max_len={target.longest}",
        f"-artifact_prefix={FAILURES / name}/",
        "-timeout=300",
        *words(name, folder),
        str(folder),
    ]
    atheris.Setup([sys.argv[0], *options], lambda data: target.run(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
