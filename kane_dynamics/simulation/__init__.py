"""Motions of a robot over time: reference trajectories, and what the robot does."""
