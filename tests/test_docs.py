"""Everything that README and docs show is executed; see `tests/pages.py` for how."""

import pytest

from tests import pages

PAGES = [pages.HOME / "README.md", *sorted((pages.HOME / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(pages.HOME)) for page in PAGES])
def test_page_runs(page, tmp_path):
    pages.run(page, tmp_path)


def written(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


GOOD = """
# A page
```toml
# mine.toml
rounds = 3
```
Text.
```python
# mine.py
x = 40
```
```python
from pathlib import Path

y = x + 2
assert "rounds = 3" in Path("mine.toml").read_text()
```
```console
$ make nothing
$ coterie --help  # with a comment
…Usage: coterie …
```
```python
>>> import mine
>>> print(y, mine.x)
42 ...
```
```python no-run: needs a network
raise OSError
```
"""


def test_a_good_page_runs_in_order_in_one_namespace(tmp_path):
    pages.run(written(tmp_path, GOOD), tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n", "line 6"),
        ("```python\n>>> 1 + 1\n3\n```\n", "output is not what the page shows"),
        ("```console\n$ coterie methods nothing\n```\n", "ends with 2"),
        ("```console\n$ coterie --help\nNothing.\n```\n", "where the page shows"),
    ],
)
def test_a_wrong_page_fails_at_its_line(tmp_path, text, message):
    with pytest.raises(AssertionError, match=message):
        pages.run(written(tmp_path, text), tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python no-run\nx\n```\n", "line 1: write 'no-run: why'"),
        ("```python no-run:\nx\n```\n", "line 1: write 'no-run: why'"),
        ("Text.\n```python skip\nx\n```\n", "line 2: write 'no-run: why'"),
        ("```pyton\nx\n```\n", "nobody knows how to check a block of 'pyton'"),
        ("```bash\ncoterie compare\n```\n", "nobody knows how to check a block of 'bash'"),
    ],
)
def test_a_block_that_is_neither_run_nor_excused_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        pages.blocks(text)


@pytest.mark.parametrize(
    ("shown", "printed", "good"),
    [
        ("", "anything", True),
        ("a … c", "a b\nb c", True),
        ("a\n…\n", "a \nb\n", True),
        ("a … d", "a b c", False),
        ("a.c", "abc", False),
    ],
)
def test_shown_output_is_compared(shown, printed, good):
    assert pages.matches(shown, printed) == good
