"""C text of compiled functions: for one state, and for many states side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kane_dynamics.codegen.compiler import source_text
from kane_dynamics.symbolic.operations import FUNCTIONS, Operation
from kane_dynamics.symbolic.program import Signature
from kane_dynamics.symbolic.schedule import CIRCULAR

STATE_SYMBOL = "kane_state"
BATCH_SYMBOL = "kane_batch"

_PRELUDE = Path(__file__).with_name("kernel.h")

# Threads may have little stack: 16 kB of it for one state, 32 kB for many, are safe and fastest.
_STATE = f"""
EXPORT void {STATE_SYMBOL}(const double *const *in, double *result)
{{
#if KEPT > 2048
    static _Thread_local
#endif
    real kept[KEPT + 1];
    body(in, result, kept);
}}
"""

_BATCH = f"""
EXPORT int {BATCH_SYMBOL}(const double *const *rows, const ptrdiff_t *strides, double *out,
                          ptrdiff_t count)
{{
    static const int sizes[] = {{SIZES 0}};
#if INPUTS_SIZE + RESULT_SIZE + KEPT > 511
    lanes *const in = lanes_array(INPUTS_SIZE + RESULT_SIZE + KEPT);
    if (in == NULL)
        return 0;
#else
    lanes in[INPUTS_SIZE + RESULT_SIZE + KEPT + 1];
#endif
    lanes *const result = in + INPUTS_SIZE, *const kept = result + RESULT_SIZE;
    for (ptrdiff_t done = 0; done < count; done += LANES) {{
        const ptrdiff_t left = count - done;
        lanes *to = in;
        for (int i = 0; i < INPUT_COUNT; to += sizes[i], i++)
            if (done == 0 || strides[i] != 0)
                gather(rows[i] + done * strides[i], strides[i], sizes[i], left, to);
        body(in, result, kept);
        scatter(result, RESULT_SIZE, left, out + done * RESULT_SIZE);
    }}
#if INPUTS_SIZE + RESULT_SIZE + KEPT > 511
    free(in);
#endif
    return 1;
}}
"""

_LANE_BY_LANE = """
#ifndef {macro}
static APART lanes lanes_{macro}({declared})
{{
    for (int i = 0; i < LANES; i++)
        LANE(x0) = {expression};
    return x0;
}}
#define {macro}({x}) lanes_{macro}({wide})
#endif
"""


def _functions(body: str, text: Callable[[str, Operation, list[str]], str]) -> Iterator[str]:
    """Macros for those functions of `OPERATIONS` that a body uses, and what they call."""
    used = set(re.findall(r"[A-Z0-9]+(?=\()", body))
    for name, row in FUNCTIONS.items():
        if name not in CIRCULAR and name.upper() in used:
            yield row.c_function
            yield text(name.upper(), row, [f"x{k}" for k in range(row.arity)])


def _of_doubles(macro: str, row: Operation, x: list[str]) -> str:
    return f"#define {macro}({', '.join(x)}) {row.c.format(*(f'({each})' for each in x))}"


def _of_lanes(macro: str, row: Operation, x: list[str]) -> str:
    """Lane by lane, unless kernel.h knows a faster way."""
    return _LANE_BY_LANE.format(
        macro=macro,
        declared=", ".join(f"lanes {each}" for each in x),
        expression=row.c.format(*(f"LANE({each})" for each in x)),
        x=", ".join(x),
        wide=", ".join(f"WIDE({each})" for each in x),
    )


def state_source(signature: Signature, body: str) -> str:
    """C text of ``void kane_state(const double *const *in, double *result)``."""
    inputs = [f"#define in_{entry.name}(i) in[{k}][i]" for k, entry in enumerate(signature.inputs)]
    return _assembled(
        ["#define ONE_STATE"], [*_functions(body, _of_doubles), *inputs, body, _STATE]
    )


def batch_source(signature: Signature, body: str) -> str:
    """C text of ``int kane_batch(rows, strides, out, count)``, `LANES` states at a time.

    ``rows[k]`` points to the states of input ``k``, which are ``strides[k]`` doubles apart (zero
    for one state that all share); ``out`` receives ``count`` rows. It returns 0 without memory.
    """
    sizes = [entry.size for entry in signature.inputs]
    inputs = [
        f"#define in_{entry.name}(i) in[{sum(sizes[:k])} + (i)]"
        for k, entry in enumerate(signature.inputs)
    ]
    layout = [
        f"#define INPUT_COUNT {len(sizes)}",
        f"#define SIZES {''.join(f'{size}, ' for size in sizes)}",
        f"#define INPUTS_SIZE {sum(sizes)}",
        f"#define RESULT_SIZE {signature.size}",
    ]
    return _assembled(layout, [*_functions(body, _of_lanes), *inputs, body, _BATCH])


def _assembled(before: Sequence[str], after: Sequence[str]) -> str:
    return "\n".join([*before, source_text(_PRELUDE), *after])
