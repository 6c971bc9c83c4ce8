"""C text of compiled functions: for one state, and for many states side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kane_dynamics.codegen.pieces import in_pieces
from kane_dynamics.symbolic.program import Signature

STATE_SYMBOL = "kane_state"
BATCH_SYMBOL = "kane_batch"

REAL = "real"
"""The type of values in the statements that are put into the functions below."""

# Threads may have little stack: 16 kB of it for one state, 32 kB for many, are safe and fastest.
_KEPT_ON_STACK = 2048
_LANES_ON_STACK = 512
_PRELUDE = Path(__file__).with_name("kernel.h")
_SINE_COSINE = re.compile(r"SINCOS\((.*), (\S+), (\S+)\);")
_DECLARATION = re.compile(rf"({REAL} \w+(, \w+)?)?;")

_STATE = """
#define ONE_STATE
{prelude}
{inputs}
{pieces}
EXPORT void {symbol}(const double *const *in, double *result)
{{
    {storage} real kept[{kept} + 1];
    {calls}
}}
"""

_BATCH = """
{prelude}
{inputs}
{pieces}
EXPORT int {symbol}(const double *const *rows, const ptrdiff_t *strides, double *out,
                    ptrdiff_t count)
{{
    static const int sizes[] = {{{sizes} 0}};
    {memory}
    lanes *const result = in + {total}, *const kept = result + {size};
    for (ptrdiff_t done = 0; done < count; done += LANES) {{
        const ptrdiff_t left = count - done;
        lanes *to = in;
        for (int i = 0; i < {input_count}; to += sizes[i], i++)
            gather(rows[i] + done * strides[i], strides[i], sizes[i], left, to);
        {calls}
        scatter(result, {size}, left, out + done * {size});
    }}
    {release}
    return 1;
}}
"""

_STACK = "lanes in[{length}];"
_HEAP = "lanes *const in = lanes_array({length}); if (in == NULL) return 0;"

_PIECE = """
PIECE void piece_{number}(INPUTS in, real *restrict result, real *restrict kept)
{{
    (void)in; (void)result; (void)kept;
    {statements}
}}
"""


def state_source(signature: Signature, statements: Sequence[str]) -> str:
    """C text of ``void kane_state(const double *const *in, double *result)``."""
    inputs = [f"#define in_{entry.name}(i) in[{k}][i]" for k, entry in enumerate(signature.inputs)]
    pieces, kept = in_pieces(statements)
    return _STATE.format(
        symbol=STATE_SYMBOL,
        prelude=_prelude(pieces),
        inputs="\n".join(inputs),
        pieces=_functions([_angles_together(piece) for piece in pieces]),
        storage="static _Thread_local" if kept > _KEPT_ON_STACK else "",
        kept=kept,
        calls=_calls(pieces),
    )


def batch_source(signature: Signature, statements: Sequence[str]) -> str:
    """C text of ``int kane_batch(rows, strides, out, count)``, `LANES` states at a time.

    ``rows[k]`` points to the states of input ``k``, which are ``strides[k]`` doubles apart (zero
    for one state that all share); ``out`` receives ``count`` rows. It returns 0 without memory.
    """
    sizes = [entry.size for entry in signature.inputs]
    inputs = [
        f"#define in_{entry.name}(i) in[{sum(sizes[:k])} + (i)]"
        for k, entry in enumerate(signature.inputs)
    ]
    pieces, kept = in_pieces(statements)
    length = sum(sizes) + signature.size + kept + 1
    return _BATCH.format(
        symbol=BATCH_SYMBOL,
        prelude=_prelude(pieces),
        inputs="\n".join(inputs),
        pieces=_functions(pieces),
        kept=kept,
        memory=(_HEAP if length > _LANES_ON_STACK else _STACK).format(length=length),
        release="free(in);" if length > _LANES_ON_STACK else "",
        calls=_calls(pieces),
        sizes="".join(f"{size}, " for size in sizes),
        input_count=len(sizes),
        total=sum(sizes),
        size=signature.size,
    )


def _prelude(pieces: Sequence[Sequence[str]]) -> str:
    # Left alone, a compiler would join functions that are called once.
    apart = "#define PIECES_APART\n" if len(pieces) > 1 else ""
    return apart + _PRELUDE.read_text(encoding="utf-8")


def _functions(pieces: Sequence[Sequence[str]]) -> str:
    return "".join(
        _PIECE.format(number=number, statements="\n    ".join(piece))
        for number, piece in enumerate(pieces)
    )


def _calls(pieces: Sequence[Sequence[str]]) -> str:
    return " ".join(f"piece_{number}(in, result, kept);" for number in range(len(pieces)))


def _angles_together(statements: Sequence[str]) -> list[str]:
    """The statements with neighbouring sines and cosines computed side by side."""
    lines: list[str] = []
    waiting: list[tuple[str, str, str]] = []
    for statement in statements:
        found = _SINE_COSINE.fullmatch(statement)
        if found:
            waiting.append((found[1], found[2], found[3]))
            continue
        if waiting and not _DECLARATION.fullmatch(statement):
            lines += _side_by_side(waiting)
            waiting = []
        lines.append(statement)
    return lines + _side_by_side(waiting)


def _side_by_side(group: Sequence[tuple[str, str, str]]) -> list[str]:
    lines = []
    for start in range(0, len(group), 4):
        four = group[start : start + 4]
        angles = [angle for angle, _, _ in four] + ["0.0"] * (4 - len(four))
        lines.append("{ double sine[4], cosine[4];")
        lines.append(f"four_sines_cosines({', '.join(angles)}, sine, cosine);")
        for position, (_, sine, cosine) in enumerate(four):
            lines.append(f"{sine} = sine[{position}], {cosine} = cosine[{position}];")
        lines.append("}")
    return lines
