"""Inputs that nobody means, as many as are wanted: scripts/fuzz TARGET COUNT.

A target (`targets`, `ros_targets`) says what is read and what must come of it: something right, or
one sentence. `mutation` makes inputs of good ones; those that bring about something new are mutated
further. Folders of corpus/ keep, a target each, what once went wrong; the tests run it every time.
"""
