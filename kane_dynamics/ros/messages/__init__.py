"""Messages as bytes, numbers and times, whatever they are about.

`cdr.py` reads bytes that nobody vouches for, `arrays.py` gives messages the numbers of NumPy's
arrays, `stamps.py` has times as whole nanoseconds.
"""
