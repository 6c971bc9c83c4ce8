"""Calls of the system that fail, or at which a process is killed, in turn: scripts/faults.

`scenarios` runs in a process that has failing_calls.c preloaded, and lets the k-th call of a
function fail, for every k; what each leaves behind is looked at, and whether the next one works.
"""
