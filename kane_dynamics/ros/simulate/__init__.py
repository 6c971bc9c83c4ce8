"""Forward simulation as the service ~/simulate and the action ~/simulate_motion.

Begin with `simulating.py`, which runs one at a time in a thread. `requests.py` and `inputs.py` read
what is asked for, `answers.py` writes what came of it.
"""
