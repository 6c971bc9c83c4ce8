"""The robot that is served: from a description to a model with which callbacks compute.

Begin with `model.py`, what the rest of the node knows of a robot. `description.py` takes URDFs from
the parameter or the topic, and has them derived beside the node, in the process of `derivation.py`.
`limits.py` holds efforts against the URDF's limits, `outside_names.py` knows joints by other names.
"""
