"""Motions of a mechanism over time: reference trajectories, and what the mechanism does.

Begin with `request`, which says what may be asked for, and `simulate`, which computes it for the
functions of any equations. `rates` makes the right-hand side and the events of `inputs` (what
drives it) and `constraints` (friction and stops); `loop.c`, or `run` and `loop` without a compiler,
goes through time with fixed steps, `adaptive` with others. Constraints by name (`named`, `holding`,
`constraints.c`) change in `excursions`, by themselves or at `switches`. A `motion` comes out:
`checks` say how far it can be trusted, `balance` where it has diverged. `trajectory` makes motions
through points.
"""
