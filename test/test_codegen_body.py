"""What a program computes as C: sines side by side, and long programs in pieces."""

import re

from oracle import load, robot_path
from random_programs import program_of, random_program

from kane_dynamics.codegen.body_c import body
from kane_dynamics.symbolic.graph import Graph
from kane_dynamics.symbolic.pieces import PIECE, SHORTEST, Pieces, in_pieces
from kane_dynamics.symbolic.program import Program
from kane_dynamics.symbolic.schedule import schedule


def printed(graph: Graph, *outputs) -> list[str]:
    return body(program_of("f", [("x", 9)], (len(outputs),), outputs)).splitlines()


def test_sines_are_computed_side_by_side_right_after_their_angles():
    graph = Graph()
    x, y, z, *_ = graph.inputs("x", 9)
    angle = x + y
    lines = printed(graph, graph.sin(angle) * z, graph.cos(y) * graph.cos(angle))
    assert lines[3:6] == [
        "const real Z1 = in_x(0) + in_x(1);",
        "real s1, c1, s2, c2;",
        "SINCOS2(Z1, s1, c1, in_x(1), s2, c2);",
    ]


def test_four_angles_at_most_stand_side_by_side():
    graph = Graph()
    lines = printed(graph, *(graph.sin(x) for x in graph.inputs("x", 9)))
    assert [line[:7] for line in lines if "SINCOS" in line] == ["SINCOS4", "SINCOS4", "SINCOS1"]


def test_a_sine_of_a_sine_is_taken_after_it():
    graph = Graph()
    x, *_ = graph.inputs("x", 9)
    inner = graph.sin(x)
    lines = printed(graph, graph.cos(inner + x) * inner)
    assert [line for line in lines if "SINCOS" in line] == [
        "SINCOS1(in_x(0), s1, c1);",
        "SINCOS1(in_x(0) + s1, s2, c2);",
    ]


def test_a_selection_and_a_number_are_of_the_type_of_the_surroundings():
    graph = Graph()
    x, y, z, *_ = graph.inputs("x", 9)
    lines = printed(graph, graph.select(x - y, y, z * z), graph.constant(2.0))
    assert "out(0) = SELECT(in_x(0) - in_x(1), in_x(1), in_x(2)*in_x(2));" in lines
    assert "out(1) = REAL(2.0);" in lines


# ------------------------------------------------------------------------------------- in pieces
def cut(program: Program) -> Pieces:
    return in_pieces(program, schedule(program))


def long_program() -> Program:
    return random_program(3, operations=3000, shape=(40,))


def test_a_short_program_is_one_piece():
    assert len(cut(random_program(0)).pieces) == 1
    assert "PIECE" not in body(random_program(0))


def test_every_step_is_in_one_piece_of_bounded_length():
    program = long_program()
    plan = schedule(program)
    pieces = in_pieces(program, plan).pieces
    steps = [step for piece in pieces for step in piece]
    assert {node for step in steps if step.output is None for node in step.nodes} == set(plan.order)
    assert sorted(s.output for s in steps if s.output is not None) == list(range(40))
    assert all(SHORTEST <= len(piece) <= PIECE for piece in pieces[:-1])
    assert len(pieces[-1]) <= PIECE


def test_a_piece_reads_what_it_has_made_itself_or_what_was_kept_for_it():
    kept: dict[str, str] = {}
    text = body(long_program())
    *pieces, calls = re.split(r"^(?:PIECE\(\d+\)|BODY)$", text, flags=re.M)[1:]
    assert calls.count("CALL") == len(pieces) > 3
    for piece in pieces:
        local: set[str] = set()
        for line in piece.splitlines():
            target, equals, value = line.partition(" = ")
            if not equals:
                local.update(re.findall(r"\b[sc]\d+\b", line) if line.startswith("real") else [])
                kept.update(dict.fromkeys(re.findall(r"kept\[\d+\]", line), line))
                continue
            assert set(re.findall(r"\b[Zsc]\d+\b", value)) <= local
            assert set(re.findall(r"kept\[\d+\]", value)) <= set(kept)
            if target.startswith("kept"):
                kept[target] = line
            else:
                local.update(re.findall(r"\bZ\d+\b", target))


def test_a_place_holds_one_value_at_a_time():
    program = long_program()
    plan = schedule(program)
    found = in_pieces(program, plan)
    holds: dict[int, object] = {}
    for piece in found.pieces:
        for step in piece:
            stack = [*step.nodes] if step.output is not None else []
            stack += [arg for node in step.nodes if step.output is None for arg in node.args]
            while stack:
                node = stack.pop()
                if node in found.places and node in plan.names:
                    assert holds[found.places[node]] is node
                elif node not in plan.names:
                    stack.extend(node.args)
            for node in step.nodes if step.output is None else ():
                if node in found.places:
                    holds[found.places[node]] = node
    assert set(holds) == set(range(found.size))


def test_few_values_live_on_from_one_piece_to_the_next():
    """Two computations that share nothing are cut between, wherever that is in reach."""
    graph = Graph()
    x, y, *_ = graph.inputs("x", 9)

    def wide(seed, width):
        row = [seed + float(k) for k in range(width)]
        sums = [row[i] * row[j] for i in range(width) for j in (i, (i + 1) % width)]
        return graph.sum([a * a for a in sums])

    outputs = [wide(x, 60), wide(y, 60)]
    program = program_of("f", [("x", 9)], (2,), outputs)
    found = cut(program)
    assert len(found.pieces) == 2
    assert found.size == 0


def test_an_output_is_written_as_soon_as_it_is_known_and_not_kept():
    arm = load(robot_path("talos_reduced"), base="floating")
    found = cut(arm._functions.program("mass_matrix"))
    assert len(found.pieces) > 5
    assert found.size < 100
