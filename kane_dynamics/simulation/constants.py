"""Numbers that compiled and Python code share; integrator.c gets them when it is compiled."""

SAME_TIME = 1e-9
"""Share of the shorter of a step and the time between two rows, within which times are the same."""

RELEASE = 1.0 + 1e-12
"""Share of the dry friction beyond which a stuck joint slides."""

HALVINGS = 44
"""Bisections by which the end of a mode is found within a step."""

AT_ONCE = 1e-12
"""Share of a step within which a mode has ended at once."""

PARTS_AT_STOPS = 10
"""Parts of a step while a joint is at a stop, which is too stiff for a whole one."""

LARGEST_SPEED = 1e8
LARGEST_COORDINATE = 1e12
"""Rad/s, m/s, rad and m, beyond which a motion has diverged."""

ERROR_STRIDE = 50
"""One step of so many has its error estimated, besides those that seem worse than all before."""

WORSE = 1.1
"""How much worse that is."""

FOR_C = (
    "SAME_TIME",
    "RELEASE",
    "HALVINGS",
    "AT_ONCE",
    "PARTS_AT_STOPS",
    "LARGEST_SPEED",
    "LARGEST_COORDINATE",
    "WORSE",
)


def definitions() -> str:
    """The numbers as lines of C."""
    return "".join(f"#define {name} {globals()[name]!r}\n" for name in FOR_C)
