"""Kane's method, step by step as in the papers; what it gives is an `equations.Equations`.

Begin with `equations`, the contract: what any mechanism offers to all that is built on it. `tree`
is the provider for trees of rigid bodies, `general` for any mechanism; `linear` solves equations in
expressions. `constraints` says what constraints of any mechanism are, `recombination` what becomes
of its equations. Expressions come from `symbolic`; nothing here knows of C, of files, or of ROS.
"""
