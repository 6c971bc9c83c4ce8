"""A node at 1 kHz for hours, under faults, swaps and floods: scripts/soak.

`driver` sends joint states and hears torques, `nemesis` disturbs the node from a process of its own
and writes down what it holds, `account` makes figures and a picture of both.
"""
