"""Motions of a robot over time: reference trajectories, and what the robot does.

Begin with `simulate`, which computes what has been asked for (`problem`) with fixed steps in
compiled code (`compiled`, or `fixed` without a compiler) or with `adaptive` ones, and returns a
`motion`. `inputs` are what can drive the robot, `modes` how joints stick and meet their stops,
`checks` how far the motion can be trusted; `trajectory` makes motions through given points.
"""
