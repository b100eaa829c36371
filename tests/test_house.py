"""How the house is built: what may import what, where tests stand, and what a room exports."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from coterie.rooms import ROOMS, rules

HOME = Path(__file__).parents[1]
SOURCE = HOME / "src" / "coterie"
HEAVY = {"torch", "flwr", "ray", "fastapi", "sklearn", "pandas", "matplotlib"}
BROUGHT = {
    "ray": "flwr",
    "starlette": "fastapi",
    "pydantic": "fastapi",
    "markupsafe": "jinja2",
    "PIL": "matplotlib",
}  # sure to come
WITH_EXTRAS = {"flower", "flower_app", "service"}  # what is not opened without its extra
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "core", "misc"}
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HOME).stdout


def test_imports_go_down_only():
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(is_debug_mode=False))"
    done = subprocess.run([sys.executable, "-c", lint], capture_output=True, text=True, cwd=HOME)
    assert done.returncode == 0, done.stdout[-4000:]


def test_importing_coterie_is_light():
    code = "import sys, time; t = time.perf_counter(); import coterie; print(time.perf_counter() - t); print(*sys.modules)"
    runs = [python(code).splitlines() for _ in range(3)]
    assert min(float(run[0]) for run in runs) < 0.8
    assert not HEAVY & set(runs[0][1].split())


def test_what_is_imported_is_declared():
    """A fresh installation has nothing but what the project asks for: no luck by what an extra happens to bring along."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    guarded = {"distributed"}  # where it misses, --on says so
    always = {named(line) for line in project["dependencies"]}
    extra = {named(line) for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines}
    brings = packages_distributions()
    for path in SOURCE.rglob("*.py"):
        for late, package in imported(path):
            dists = {named(one) for one in [BROUGHT.get(package, package), *brings.get(package, [])]}
            allowed = always | extra if late or WITH_EXTRAS & {path.stem, *path.parts} else always
            assert package in (guarded | sys.stdlib_module_names) or dists & allowed, (
                f"{path.relative_to(HOME)} imports {package}"
            )


def named(line):
    """The name of a distribution, as it is compared."""
    return re.split(r"[^\w.-]", line)[0].lower().replace("_", "-")


def imported(path):
    """The packages that a file imports, and whether only inside a function; imports for types do not count."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(n) for b in ast.walk(tree) if isinstance(b, ast.If) and "TYPE_CHECKING" in ast.unparse(b.test) for n in ast.walk(b)
    }
    late = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else names
        for name in names:
            if id(node) not in for_types and name.split(".")[0] != "coterie":
                yield id(node) in late, name.split(".")[0]


def test_the_catalog_and_its_rules_do_without_what_is_heavy():
    loaded = python("import sys; from coterie import catalog, testing; catalog.METHODS; print(*sys.modules)")
    assert not HEAVY & set(loaded.split())


@pytest.mark.parametrize("room", ROOMS)
def test_every_rule_has_a_test_of_the_same_name(room):
    for rule in rules(room).values():
        name = rule.__module__.rpartition(".")[2]
        assert (HOME / "tests" / room / f"test_{name}.py").exists(), f"{rule.__module__} has no tests/{room}/test_{name}.py"


@pytest.mark.parametrize("room", ROOMS)
def test_tests_of_a_room_mirror_it(room):
    modules = {path.stem for path in (SOURCE / room).glob("*.py")}
    strays = [path.name for path in (HOME / "tests" / room).glob("test_*.py") if path.stem.removeprefix("test_") not in modules]
    assert not strays


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_exports_every_rule_in_one_line(room):
    tree = ast.parse((SOURCE / room / "__init__.py").read_text())
    exported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    for path in (SOURCE / room).glob("*.py"):
        missing = [name for name in rules_in(path, ROOMS[room].__name__) if name not in exported]
        assert not missing, f"{path.name} holds {', '.join(missing)}, which coterie.{room} does not export"


def rules_in(path, kind):
    """The classes of a file that stand directly under a room's interface."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return [c.name for c in classes if any(isinstance(base, ast.Name) and base.id == kind for base in c.bases)]


@pytest.mark.parametrize("room", ROOMS)
def test_rules_are_final(room):
    for rule in rules(room).values():
        assert rule.__mro__[1] is ROOMS[room], f"{rule.__name__} is built on another rule: compose instead"


def test_no_room_for_odds_and_ends():
    assert not [path for path in MODULES if path.stem in FORBIDDEN or path.parent.name in FORBIDDEN]


def test_every_module_and_room_says_what_it_is():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{path.relative_to(HOME)} has no docstring"


def test_randomness_has_an_address():
    """Dice come from `seeds`, from `view.rng`, or from a seed that was handed in; never from a global state."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.random.default_rng", "default_rng"):
                assert node.args or node.keywords, f"{path.relative_to(HOME)}:{node.lineno}: dice without a seed"
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "np.random.seed",
                "np.random.rand",
                "np.random.choice",
            ):
                raise AssertionError(f"{path.relative_to(HOME)}:{node.lineno}: global dice")


def test_the_repository_tells_nothing_of_the_machine_it_was_written_on():
    written = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, cwd=HOME).stdout
    for name in written.split():
        path = HOME / name
        if path.suffix in {".py", ".md", ".toml", ".html", ".txt", ""} and path.is_file() and path != Path(__file__):
            text = path.read_text(errors="ignore")
            assert "/work/" not in text, f"{name} holds a path of a machine"
