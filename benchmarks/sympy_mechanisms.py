"""A mechanism made callable by SymPy alone, to be run as a process of its own.

The argument is the name of a mechanism. Printed are seconds from the configured model to the first
value of the right-hand side, seconds of an evaluation, and operations that are left after cse with
constants folded, without those of solving for the rates of speeds.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import sympy as sm

from benchmarks.mechanisms import mechanism
from benchmarks.timing import burst, in_turns


def main(name: str) -> None:
    kane, bodies, loads, constants, inputs, x = mechanism(name)
    begin = time.perf_counter()
    kane.kanes_equations(bodies, loads)
    matrices = [kane.mass_matrix_full, kane.forcing_full]
    arguments = [[*kane.q, *kane.u], [*constants], inputs]
    evaluate = sm.lambdify(arguments, matrices, cse=True)
    numbers, fed = list(constants.values()), [0.5] * len(inputs)

    def rhs(x: np.ndarray) -> np.ndarray:
        matrix, forcing = evaluate(x, numbers, fed)
        return np.linalg.solve(matrix, forcing).ravel()

    rates = rhs(x)
    found = {"first": time.perf_counter() - begin, "rates": rates.tolist()}
    (found["call"],) = in_turns([burst(rhs, x)], 20)
    print(json.dumps(found), flush=True)
    values = {symbol: sm.Float(value) for symbol, value in constants.items()}
    shared, left = sm.cse([matrix.subs(values) for matrix in matrices])
    count = sum(sm.count_ops(each) for each in (*(value for _, value in shared), *left))
    print(json.dumps({"operations": int(count)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
