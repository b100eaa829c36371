"""Runs a page of the docs as its reader would: every block in order, in one process and one empty folder.

- `python`: is executed; all blocks of a page share their names. With `>>>` prompts its output is compared too.
- `console`: lines that begin with `$ coterie` are executed. Where output is shown it is compared; `…` stands for anything.
- a first line that is a comment with a file's name, such as `# mine.py`, saves the block under that name first.
- `no-run: why`, after the language, keeps a block from being executed, and has to say why.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\S*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"(?:#|//|<!--) ([\w.-]+\.\w+)(?: -->)?\n")
LANGUAGES = {"", "python", "console", "toml", "text", "diff", "sql", "json", "html", "mermaid", "bibtex", "makefile", "ini"}


@dataclass(frozen=True)
class Block:
    language: str
    info: str
    body: str
    line: int
    """Of its first line of code."""

    @property
    def runs(self):
        return self.language in ("python", "console") and not self.info.startswith("no-run")


def blocks(text):
    """The fenced blocks of a page; ValueError for one that is neither run nor excused."""
    found = []
    for match in FENCE.finditer(text):
        block = Block(match[1], match[2].strip(), match[3], text.count("\n", 0, match.start()) + 2)
        if block.language not in LANGUAGES:
            raise ValueError(f"line {block.line - 1}: nobody knows how to check a block of '{block.language}'")
        if block.info and not re.fullmatch(r"no-run: \w.*", block.info):
            raise ValueError(f"line {block.line - 1}: write 'no-run: why', not '{block.info}'")
        found.append(block)
    return found


def script(text):
    """A page as a program whose line numbers are the page's."""
    lines = [""] * (text.count("\n") + 2)
    for block in blocks(text):
        at = block.line - 1
        if name := NAMED.match(block.body):
            lines[at - 1] = f"__import__('pathlib').Path({name[1]!r}).write_text({block.body!r})"
        if block.runs and (block.language == "console" or block.body.lstrip().startswith(">>>")):
            call = "prompts" if block.language == "python" else "console"
            lines[at] = f"__import__('tests.pages').pages.{call}({block.body!r}, {block.line}, globals())"
        elif block.runs:
            lines[at : at + block.body.count("\n")] = block.body.splitlines()
    return "\n".join(lines)


def run(page, folder):
    """Runs a page in a folder. Raises AssertionError with what went wrong, at the page's line."""
    program = folder / f"{page.stem}_page.py"
    program.write_text(script(page.read_text()))
    paths = {
        "PYTHONPATH": os.pathsep.join([str(folder), str(HOME)]),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    plain = {"NO_COLOR": "1", "COLUMNS": "120", "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, program.name], cwd=folder, env={**os.environ, **paths, **plain}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{page.name} does not run:\n{(done.stdout + done.stderr)[-4000:]}"
    return done.stdout


def prompts(body, line, names):
    """Runs a block of `>>>` prompts and compares the output."""
    test = doctest.DocTestParser().get_doctest(body, names, "the page", None, line - 1)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, f"line {line}: output is not what the page shows"


def console(body, line, _):
    """Runs the commands of a block that begin with `$ coterie` and compares the output where any is shown."""
    for prompt in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
        command, _, shown = prompt.replace("\\\n", " ").partition("\n")
        if not command.startswith("$ coterie"):
            continue
        done = subprocess.run(shlex.split(command[2:], comments=True), capture_output=True, text=True)
        assert done.returncode == 0, f"block at line {line}: {command} ends with {done.returncode}:\n{done.stdout}{done.stderr}"
        assert matches(shown, done.stdout), (
            f"block at line {line}: {command} prints\n{done.stdout}\nwhere the page shows\n{shown}"
        )


def matches(shown, printed):
    """Whether output is what a page shows, `…` being anything, and spaces at the ends of lines nothing."""
    if not shown.strip():
        return True
    tidy = ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, printed)]
    pattern = ".*".join(re.escape(part) for part in tidy[0].split("…"))
    return re.fullmatch(pattern, tidy[1], re.DOTALL) is not None
