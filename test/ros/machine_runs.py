"""How long machines run: some thousand steps every day, as many as one likes when asked to."""

import os

from hypothesis import HealthCheck, Phase, settings

STEPS = int(os.environ.get("KANE_DYNAMICS_MACHINE_STEPS", "2000"))
"""Fewest steps of a machine."""

_LONGEST_RUN = 50
_MEAN_RUN = 35  # steps, fewer than runs take on the average


def runs(steps: int) -> settings:
    """Settings of a machine that takes so many steps; long searches begin otherwise each time."""
    return settings(
        max_examples=max(steps // _MEAN_RUN, 1),
        stateful_step_count=_LONGEST_RUN,
        deadline=None,
        derandomize=steps < 10_000,
        database=None,
        phases=[Phase.generate],  # to shrink a run takes longer than to read it
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
