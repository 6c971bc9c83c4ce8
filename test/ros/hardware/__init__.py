"""A robot that plays hardware, in a process of its own: MuJoCo moves it, DDS speaks for it.

Tests start it with `hardware.process.Hardware`; `python -m hardware settings.json` is the process.
"""
