"""The ROS 2 node: torques, gravity compensation and services from a robot description.

`node.py` is the table of contents; `main.py` starts it. Beside them stands what one topic or
service does: `gravity.py`, `services.py`, `diagnostics.py`. The rest is in folders by subject:
`robot/` from a description to a model, `states/` from joint states to where the joints are,
`trajectories/` and `commands/` from a trajectory to torques that move the robot, `simulate/`,
`parameters/`, and below them `messages/` and `middleware/`.
"""
