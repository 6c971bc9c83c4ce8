"""Mechanisms with loops and wheels, as URDF text and the constraints that it cannot say."""

from __future__ import annotations

import kane_dynamics as kd

_LINK = """<link name="{name}"><inertial><origin xyz="{com} 0 0"/><mass value="{mass}"/>
<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{izz}" iyz="0" izz="{izz}"/></inertial></link>"""
_HINGE = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/></joint>"""


def rod(name: str, length: float, mass: float) -> str:
    inertia = mass * length**2 / 12
    return _LINK.format(name=name, com=length / 2, mass=mass, ixx=0.01 * inertia, izz=inertia)


def hinge(name: str, parent: str, child: str, x: float, y: float = 0.0) -> str:
    return _HINGE.format(name=name, parent=parent, child=child, x=x, y=y)


CRANK, COUPLER, ROCKER, BASE = 0.3, 0.8, 0.6, 0.7

FOUR_BAR = f"""<robot name="four_bar"><link name="base"/>
{rod("crank", CRANK, 1.0)}{rod("coupler", COUPLER, 2.0)}{rod("rocker", ROCKER, 1.5)}
{hinge("a", "base", "crank", 0.0)}{hinge("b", "crank", "coupler", CRANK)}
{hinge("d", "base", "rocker", BASE)}</robot>"""

FOUR_BAR_LOOP = kd.Loop("c", "coupler", "rocker", at1=(COUPLER, 0, 0), at2=(ROCKER, 0, 0))

FIVE_BAR = f"""<robot name="five_bar"><link name="base"/>
{rod("upper1", 0.4, 1.0)}{rod("fore1", 0.5, 0.7)}{rod("upper2", 0.4, 1.1)}{rod("fore2", 0.5, 0.8)}
{hinge("m1", "base", "upper1", -0.2)}{hinge("e1", "upper1", "fore1", 0.4)}
{hinge("m2", "base", "upper2", 0.2)}{hinge("e2", "upper2", "fore2", 0.4)}</robot>"""

FIVE_BAR_LOOP = kd.Loop("tip", "fore1", "fore2", at1=(0.5, 0, 0), at2=(0.5, 0, 0))

_WHEEL = """<link name="{side}"><inertial><mass value="0.8"/><inertia ixx="0.002" ixy="0" ixz="0"
iyy="0.004" iyz="0" izz="0.002"/></inertial></link><joint name="{side}_joint" type="continuous">
<parent link="chassis"/><child link="{side}"/><origin xyz="0 {y} 0"/><axis xyz="0 1 0"/></joint>"""

TRACK, RADIUS = 0.5, 0.1

DIFFERENTIAL_DRIVE = f"""<robot name="cart"><link name="odom"/><link name="chassis"><inertial>
<origin xyz="0.05 0 0.1"/><mass value="6"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0"
izz="0.25"/></inertial></link><joint name="plane" type="planar"><parent link="odom"/>
<child link="chassis"/><origin xyz="0 0 {RADIUS}"/><axis xyz="0 0 1"/></joint>
{_WHEEL.format(side="left", y=TRACK / 2)}{_WHEEL.format(side="right", y=-TRACK / 2)}
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.001" ixy="0"
ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link><joint name="shoulder" type="continuous">
<parent link="chassis"/><child link="arm"/><origin xyz="0.1 0 0.2"/><axis xyz="0 0 1"/></joint>
</robot>"""

WHEELS = [kd.Rolling("left_rolls", "left", RADIUS), kd.Rolling("right_rolls", "right", RADIUS)]
