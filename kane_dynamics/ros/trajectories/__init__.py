"""Commanded trajectories: read, put at their place in time, answered with efforts, followed.

Begin with `following.py`, the topics; `commanded.py` and `points.py` read messages, `plans.py` says
which trajectory is due, `efforts.py` what it takes. `action.py` chooses who serves goals of
~/follow_joint_trajectory: `goals.py` moves the robot, `forwarding.py` asks a controller to.
"""
