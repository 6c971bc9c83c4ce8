"""Kane's method for trees of rigid bodies, an algorithm a file.

Begin with `inverse`, the torques that produce a motion: velocities and accelerations of the bodies
(`joints`, `motion`), partial velocities, inertia forces, and their sums from the tips inward. The
economies stand apart: `frames` and `regrouping` prepare a tree so that few operations are left,
`parallel` shares what parallel axes have in common. `equations` offers it all by name.
"""
