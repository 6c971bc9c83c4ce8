"""Where the joints are: joint states as they come, and states that requests name.

Begin with `joint_states.py`, which every message on joint_states goes through; it reads the bytes
with `joint_state_bytes.py`, and takes velocities that are missing from `differences.py`.
`silence.py` says what does not come, `requested_states.py` reads states out of requests.
"""
