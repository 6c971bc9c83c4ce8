"""The repository around the package: what it says of itself, and that what it says is true."""

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kane_dynamics as kd

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kane_dynamics"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
SOURCED = ("environment", "prepared")
SCRIPTS = sorted(p.name for p in (ROOT / "scripts").iterdir() if not p.suffix)
SHIPPED = ["LICENSE", "README.md", "package.xml", "setup.cfg", "setup.py", "pyproject.toml"]

ENGINE = {"arrays", "errors", "names", "robot", "symbolic", "kane", "codegen"}
MAY_IMPORT = {
    "arrays": {"errors"},
    "errors": set(),
    "names": {"errors"},
    "robot": {"arrays", "errors", "names"},
    "symbolic": {"arrays", "errors"},
    "kane": {"arrays", "errors", "names", "robot", "symbolic"},
    "codegen": {"arrays", "errors", "kane", "symbolic"},
    "late": {"arrays", "errors", "kane", "robot"},
    "python_process": set(),
    "quantities": {"arrays"},
    "operational": {"arrays", "errors"},
    "analysis": ENGINE | {"operational", "quantities", "simulation"},
    "dynamics": ENGINE | {"analysis", "late", "quantities", "simulation"},
    "constrained": ENGINE | {"dynamics", "simulation"},
    "loading": ENGINE | {"constrained", "dynamics"},
    "system": ENGINE - {"robot"} | {"quantities", "simulation"},
    "simulation": ENGINE - {"robot"} | {"python_process"},
    "ros": ENGINE | {"constrained", "dynamics", "loading", "python_process", "simulation"},
    "__init__": ENGINE
    | {"constrained", "dynamics", "loading", "operational", "quantities", "simulation", "system"},
}


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process in the checkout."""
    return subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def python(*arguments: str | Path, **environment: str) -> str:
    """What a Python process in the checkout prints."""
    done = run(sys.executable, *arguments, PYTHONPATH=str(ROOT), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------- package


def test_package_xml_names_this_package_and_version() -> None:
    manifest = ElementTree.parse(ROOT / "package.xml").getroot()
    assert manifest.get("format") == "3"
    assert manifest.findtext("name") == "kane_dynamics"
    assert manifest.findtext("version") == kd.__version__
    assert manifest.findtext("export/build_type") == "ament_python"
    assert (ROOT / "resource" / "kane_dynamics").is_file()


def test_the_license_is_the_one_that_package_xml_names() -> None:
    license = ElementTree.parse(ROOT / "package.xml").getroot().find("license")
    assert license is not None
    assert license.text == "Apache-2.0"
    text = (ROOT / str(license.get("file"))).read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert versions[0] == kd.__version__


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes of a copy of the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    for room in ("kane_dynamics", "resource", "urdf"):
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in SHIPPED:
        shutil.copy(ROOT / name, source)
    python("-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", place, source)
    return next(place.glob("*.whl"))


def test_a_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    files = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    expected = {name for name in files if "__pycache__" not in name}
    assert expected <= set(zipfile.ZipFile(wheel).namelist())
    assert {Path(name).suffix for name in expected} == {".py", ".c", ".h", ".typed", ".xml"}


def test_a_wheel_holds_what_ros_looks_for(wheel: Path) -> None:
    share = f"kane_dynamics-{kd.__version__}.data/data/share"
    robots = {f"{share}/kane_dynamics/urdf/{path.name}" for path in (ROOT / "urdf").iterdir()}
    index = f"{share}/ament_index/resource_index/packages/kane_dynamics"
    manifest = f"{share}/kane_dynamics/package.xml"
    assert {*robots, index, manifest} <= set(zipfile.ZipFile(wheel).namelist())


# -------------------------------------------------------------------------------------- imports


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "numpy scipy sympy lxml yaml urdf_parser_py xacro rclpy"
    text = f"import sys, kane_dynamics; print([n for n in '{heavy}'.split() if n in sys.modules])"
    assert python("-c", text) == "[]\n"


def test_torques_need_neither_sympy_nor_scipy() -> None:
    text = (
        "import sys, kane_dynamics as kd; kd.load('urdf/two_link_arm.urdf').gravity([0.0, 0.0]); "
        "print([name for name in ('sympy', 'scipy') if name in sys.modules])"
    )
    assert python("-c", text) == "[]\n"


def test_every_public_name_is_there() -> None:
    assert [name for name in kd.__all__ if not hasattr(kd, name)] == []
    assert set(kd.__all__) <= set(dir(kd))


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports, by their full names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield str(node.module)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_room_imports_only_rooms_before_it(path: Path) -> None:
    room = path.parts[0].removesuffix(".py")
    for module in imports(PACKAGE / path):
        top, *rest = module.split(".")
        assert top != "rclpy" or room == "ros", f"{room} imports rclpy"
        if top == "kane_dynamics" and rest and rest[0] != room:
            assert rest[0] in MAY_IMPORT[room], f"{room} imports {module}"


# ---------------------------------------------------------------------------------------- pages

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
MARKED_TABLE = re.compile(r"(?s)<!-- benchmark (\w+) -->.*?<!-- end of benchmark \1 -->")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)
LINK = re.compile(r"\]\((?!http)([^)#]+)[^)]*\)")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def blocks_of(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", [*filter(blocks_of, PAGES)], ids=lambda page: page.stem)
def test_python_in_a_page_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """All its blocks run one after the other."""
    blocks, separator, script = blocks_of(page), "\x1e", tmp_path / "page.py"
    script.write_text(f"print({separator!r})\n".join(block["code"] for block in blocks))
    printed = [text.strip("\n") for text in python(script).split(separator)]
    assert printed == [(block["output"] or "").strip("\n") for block in blocks]


def test_there_are_examples_in_the_readme_and_in_the_page_about_python() -> None:
    assert len(blocks_of(README)) >= 3
    assert len(blocks_of(ROOT / "docs" / "python.md")) >= 5


@every_page
def test_files_that_a_page_links_to_exist(page: Path) -> None:
    names = LINK.findall(page.read_text(encoding="utf-8"))
    assert [name for name in names if not (page.parent / name).exists()] == []


@every_page
def test_files_that_a_page_names_exist(page: Path) -> None:
    names = re.findall(r"\b(?:scripts|examples|test|urdf|config)/[\w./]*\w", page.read_text())
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_readme_leads_to_every_page_and_every_folder() -> None:
    names = {name.rstrip("/") for name in LINK.findall(README.read_text(encoding="utf-8"))}
    folders = run("git", "ls-tree", "-d", "--name-only", "HEAD").stdout.split()
    wanted = {path.relative_to(ROOT).as_posix() for path in PAGES[1:]} | set(folders)
    assert wanted - names <= {".ci", "resource"}


# -------------------------------------------------------------------------------------- scripts


@pytest.mark.parametrize("name", [f"scripts/{name}" for name in SCRIPTS] + [".ci/run"])
def test_a_script_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK) == (Path(name).name not in SOURCED)
    assert run("bash", "-n", name).returncode == 0


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in SOURCED])
def test_a_script_says_in_one_sentence_what_a_machine_lacks(name: str, tmp_path: Path) -> None:
    checkout, tools = tmp_path / "checkout", tmp_path / "bin"
    shutil.copytree(ROOT / "scripts", checkout / "scripts")
    tools.mkdir()
    for tool in ("bash", "basename", "dirname", "cat", "env"):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    done = run(checkout / "scripts" / name, PATH=str(tools))
    assert done.returncode == 1
    if name in ("demo", "test"):
        assert done.stderr == f"{name}: python3 was not found; install Python 3.10 or newer.\n"
    else:
        assert done.stderr.startswith(f"{name}: there is no environment .venv yet; scripts/test")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("step", ["build_interfaces", "kane_dynamics.ros"])
def test_ctrl_c_ends_the_demo_and_what_it_has_started(step: str, tmp_path: Path) -> None:
    """Whatever the interrupted command makes of it, and also where it does not hear SIGINT yet."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "setup.py").touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        "#!/usr/bin/env bash\ntrap 'exit 1' INT\n"
        f'if [[ "$*" == *{step}* ]]; then echo begun; while :; do sleep 0.02; done; fi\n'
    )
    python.chmod(0o755)
    demo = subprocess.Popen(
        [tmp_path / "scripts" / "demo"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert demo.stdout is not None
    shown = iter(demo.stdout)
    next(line for line in shown if line == "begun\n")
    os.killpg(demo.pid, signal.SIGINT)
    assert demo.wait(30) == 130
    assert set(shown) <= {"begun\n"}  # and nothing holds the pipe any more


@pytest.mark.parametrize("compiler", ["with", "without"])
def test_the_demo_shows_what_it_should(compiler: str, tmp_path: Path) -> None:
    place = {} if compiler == "with" else {"PATH": str(tmp_path), "CC": ""}
    shown = python("examples/stanford_arm.py", XDG_CACHE_HOME=str(tmp_path), **place)
    counted = kd.load(ROOT / "urdf" / "stanford_arm.urdf").operations("inverse_dynamics")
    assert re.search(rf"kane_dynamics +{counted.multiplications} +{counted.additions}\n", shown)
    assert "[mass-units]" in shown


def test_the_benchmarks_measure_what_is_asked_for(tmp_path: Path) -> None:
    page, rows = tmp_path / "page.md", ["ur5-gravity", "import"]
    before = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    page.write_text(before, encoding="utf-8")
    shown = python("-m", "benchmarks", *rows, "--quick", "--write", page)
    assert re.findall(r"^\| (ur5-\S+|import|cache) .*\s[mµn]?s .* \d\.\d+ ", shown, re.M) == rows
    assert "646" in shown
    written = page.read_text(encoding="utf-8")
    assert written != before
    assert MARKED_TABLE.sub("", written) == MARKED_TABLE.sub("", before)


def test_two_checkouts_are_measured_side_by_side(tmp_path: Path) -> None:
    """This one, and a copy whose import takes long."""
    copy = tmp_path / "kane_dynamics"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "__init__.py").open("a") as file:
        file.write("\n__import__('time').sleep(3.0)\n")
    shown = python("-m", "benchmarks", "compare", tmp_path, "import", "--turns", "1")
    ((there, ratio),) = re.findall(r"^\| import .* (\S+)\ss +\| (\S+) +\|$", shown, re.M)
    assert float(there) >= 3.0
    assert float(ratio) < 0.9
    assert shown.endswith("Slower by more than 3%: none\n")


def test_a_benchmark_that_does_not_exist_is_named() -> None:
    done = run(sys.executable, "-m", "benchmarks", "ur7", PYTHONPATH=str(ROOT))
    assert done.returncode == 2
    assert "no row is named ur7" in done.stderr
