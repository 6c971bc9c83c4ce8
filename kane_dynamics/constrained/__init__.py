"""The face of robots with constraints: `dynamics` has their functions.

`active` knows which constraints hold and where they began, `assembly` closes loops, `one_state` is
forward dynamics in compiled code.
"""
