"""Parameters of the node, each said once: name, type, default, range, unit and text.

Begin with `settings.py`, the table. `rows.py` says what a row of it is, and checks values;
`declaration.py` declares the rows in the node and holds what users set. `file.py` writes the table
as config/dynamics.yaml.
"""
