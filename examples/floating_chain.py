"""The floating chain of Maher and Samak (2000): five bodies, and speeds that suit them better.

The first body is free; a prismatic, two revolute and a prismatic joint follow. That the paper's
partial velocities vanish asks for parallel axes: the chain is a SCARA on a floating base. In the
paper's words, s1 and s2 are velocity and angular velocity of the first body and s3 to s6 the rates
of the joints q2 to q5; what is found is its equation (9), s5* = s4 + s5 and s6* = s3 + s6.
"""

from __future__ import annotations

import kane_dynamics as kd

JOINTS = {"q2": "prismatic", "q3": "revolute", "q4": "revolute", "q5": "prismatic"}


def chain() -> kd.Robot:
    """The chain, with offsets and inertias that nothing is special about."""
    links, joints = [kd.Link("body1", inertia(1))], []
    for k, (name, kind) in enumerate(JOINTS.items(), 2):
        links.append(kd.Link(f"body{k}", inertia(k)))
        offset = (0.2 + 0.05 * k, 0.1 * k, 0.3 - 0.02 * k)
        joints.append(
            kd.Joint(name, kind, f"body{k - 1}", f"body{k}", translation=offset, axis=(0, 0, 1))
        )
    return kd.Robot("chain", tuple(links), tuple(joints))


def inertia(k: int) -> kd.Inertia:
    tensor = ((0.3, 0.01, 0.02), (0.01, 0.2 + 0.02 * k, 0.03), (0.02, 0.03, 0.25))
    return kd.Inertia(6.0 - k, (0.1, 0.05 * k, -0.1), tensor)


def main() -> None:
    print(kd.load(chain(), base="floating").reduced_speeds())


if __name__ == "__main__":
    main()
