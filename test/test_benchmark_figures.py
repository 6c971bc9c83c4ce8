"""Figures of benchmarks go into the tables that are marked for them, and nowhere else."""

from pathlib import Path

import pytest

from benchmarks.marked_tables import with_figures
from benchmarks.report import TIMES, Table

DOCS = Path(__file__).parent.parent / "docs"
HEAD = ("row", "ours")
TEXT = """# Robot

| reader | small | large |
|---|---|---|
| import | 25 ms | 600 ms |

<!-- benchmark times -->

| row | ours |
|---|---|
| gravity | 1 ns |
| import | 4 ms |

<!-- end of benchmark times -->

| row | ours |
|---|---|
| import | by hand |
"""


def test_rows_of_the_marked_table_get_new_figures_and_others_stay() -> None:
    written = with_figures(TEXT, Table("times", HEAD, [("import", "5 ms")]))
    assert "| import  | 5 ms |" in written
    assert "| gravity | 1 ns |" in written
    before, after = TEXT.split("<!-- benchmark times -->")[0], TEXT.split("times -->")[-1]
    assert written.startswith(before)
    assert written.endswith(after)


def test_a_row_that_is_new_comes_last() -> None:
    written = with_figures(TEXT, Table("times", HEAD, [("new", "1 s"), ("import", "5 ms")]))
    assert "| gravity | 1 ns |\n| import  | 5 ms |\n| new     | 1 s  |\n\n<!-- end" in written


def test_a_row_is_found_by_as_many_cells_as_name_it() -> None:
    rows = "| a | b | c |\n|-|-|-|\n| UR5 | gravity | 3 |\n| UR5 | mass | 5 |\n"
    text = f"<!-- benchmark counts -->\n\n{rows}\n<!-- end of benchmark counts -->\n"
    written = with_figures(text, Table("counts", ("a", "b", "c"), [("UR5", "mass", "4")], keys=2))
    assert "| UR5 | gravity | 3 |" in written
    assert "| UR5 | mass    | 4 |" in written


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("<!-- benchmark times -->", ""),
        TEXT.replace("<!-- end of benchmark times -->", ""),
        TEXT + TEXT,
        "<!-- end of benchmark times -->\n<!-- benchmark times -->\n",
        TEXT.replace("| gravity | 1 ns |", "and in words"),
    ],
)
def test_a_text_without_the_marks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="<!-- benchmark times -->"):
        with_figures(text, Table("times", HEAD, [("import", "5 ms")]))


def test_a_table_with_other_columns_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the table times has columns .*, expected .*small"):
        with_figures(TEXT, Table("times", ("row", "small"), [("import", "5 ms")]))


def test_the_comparison_of_urdf_readers_is_in_no_marked_table() -> None:
    row = "| import | 25 ms | 600 ms and more |"
    texts = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    assert [name for name, text in texts.items() if row in text] == ["dependencies.md"]
    assert "<!-- benchmark" not in texts["dependencies.md"]


@pytest.mark.parametrize("name", ["calls", "startup", "simulation"])
def test_the_page_has_tables_for_times(name: str) -> None:
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    written = with_figures(text, Table(name, TIMES, [("new", *"abcdef")]))
    assert written.count("| new ") == 1
