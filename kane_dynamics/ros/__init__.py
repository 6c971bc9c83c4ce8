"""The ROS 2 node: torques, gravity compensation and services from a robot description."""
