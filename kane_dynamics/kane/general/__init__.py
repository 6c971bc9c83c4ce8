"""Kane's method for any mechanism, from velocities that are given as expressions.

Begin with `model`: what is known of a mechanism, as objects of SymPy. `kinematics` turns these into
vectors of the graph, `nodes` finds which velocity follows from which other by a few speeds,
`regrouping` which bodies can be taken together, `closures` which point constraints hold; and
`motion`, `mass`, `inverse` and `forward` are the algorithms over that. `equations` is the provider.
"""
