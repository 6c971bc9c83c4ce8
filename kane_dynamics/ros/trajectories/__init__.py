"""Commanded trajectories: read, put at their place in time, answered with efforts, followed."""
