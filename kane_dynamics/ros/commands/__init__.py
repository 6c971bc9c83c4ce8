"""What moves the robot: effort commands, and all that watches over them.

Begin with `effort_commands.py`, the topics and services; the machine behind them is `commander.py`,
which knows nothing of ROS. It is told by `sight.py` where the joints are and since when, asks
`trust.py` whether that can be true, `bounds.py` whether the robot may move so and `torques.py` for
commands, those of `law.py` through `output.py`; `wanted.py` says where the robot is to be, and
`unseen.py` knows of a robot that nobody sees.
"""
