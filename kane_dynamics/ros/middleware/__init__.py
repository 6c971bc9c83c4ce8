"""How callbacks come to run: rclpy's executor and services, made prompt enough for control.

Begin with `executor.py`, which serves joint states before all else. `beside.py` serves what has
large messages in a second thread, `late_answers.py` what is answered later. The others are what
these need of the interpreter, the system and the middleware.
"""
