"""Kane's method for trees of rigid bodies, step by step as in the papers.

Begin with `inverse`, the torques that produce a motion: velocities and accelerations of the bodies
(`kinematics`), partial velocities, inertia forces, and their sums from the tips inward. `frames`
and `regrouping` prepare the tree so that few operations are left; `programs` lists what can be
asked for. Expressions come from `symbolic`; nothing here knows of C, of files, or of ROS.
"""
