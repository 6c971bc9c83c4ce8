"""The face of mechanisms that are modelled in SymPy: `system` has their functions.

`arguments` checks the symbols that a user names, `programs` and `functions` are the functions of a
state, `held` its constraints, `analysis` what follows of their derivatives.
"""
