"""Figures of benchmarks go into the tables that are marked for them, and nowhere else."""

from pathlib import Path

import pytest

from benchmarks.readme import with_figures

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
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
    written = with_figures(TEXT, "times", [("import", "5 ms"), ("new", "1 s")])
    assert "| import  | 5 ms |" in written
    assert "| gravity | 1 ns |" in written
    assert "new" not in written
    before, after = TEXT.split("<!-- benchmark times -->")[0], TEXT.split("times -->")[-1]
    assert written.startswith(before)
    assert written.endswith(after)


def test_a_row_is_found_by_as_many_cells_as_name_it() -> None:
    rows = "| a | b | c |\n|-|-|-|\n| UR5 | gravity | 3 |\n| UR5 | mass | 5 |\n"
    text = f"<!-- benchmark counts -->\n\n{rows}\n<!-- end of benchmark counts -->\n"
    written = with_figures(text, "counts", [("UR5", "mass", "4")], keys=2)
    assert "| UR5 | gravity | 3 |" in written
    assert "| UR5 | mass    | 4 |" in written


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("<!-- benchmark times -->", ""),
        TEXT.replace("<!-- end of benchmark times -->", ""),
        TEXT + TEXT,
        "<!-- end of benchmark times -->\n<!-- benchmark times -->\n",
    ],
)
def test_a_text_without_the_marks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="<!-- benchmark times -->"):
        with_figures(text, "times", [("import", "5 ms")])


def test_the_comparison_of_urdf_readers_is_no_table_of_a_benchmark() -> None:
    row = "| import | 25 ms | 600 ms and more |"
    assert README.count(row) == 1
    assert with_figures(README, "times", []) == README
    written = with_figures(README, "times", [("import", *"abcdef")])
    assert row in written
    assert "| a " in written
