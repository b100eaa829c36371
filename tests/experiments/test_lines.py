import tomllib

from hypothesis import given
from hypothesis import strategies as st

from coterie.experiments.lines import line_of, lines_of

TRICKY = '''a = 1
b = """
x = 3
[t]
"""
c = [
 1, # ]
 2,
]
[set."a.b"]
 d.e = "[#"
f = { g = 1, h = [2] }
"k k" = 3
[[list]]
z = \'\'\'
q = 1\'\'\'
'''


def test_strings_lists_and_quoted_keys_do_not_confuse_it():
    tomllib.loads(TRICKY)
    found = lines_of(TRICKY)
    assert found[("b",)] == 2
    assert found[("c",)] == 6
    assert found[("set", "a.b", "d", "e")] == 11
    assert found[("set", "a.b", "k k")] == 13
    assert found[("list", "z")] == 15
    assert ("x",) not in found
    assert ("list", "q") not in found


def test_an_unknown_place_falls_back_on_what_is_around_it():
    found = lines_of(TRICKY)
    assert line_of(found, ("set", "a.b", "f", "g")) == 12
    assert line_of(found, ("nothing",)) is None


@given(st.lists(st.sampled_from(["a = 1", "# a = 2", "", "b = 'x'", 'c = "y # [z]"', "d = [1,", "2]"]), max_size=8))
def test_each_key_stands_on_the_line_that_says_it(lines):
    text = "\n".join(lines)
    try:
        keys = set(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return
    found = lines_of(text)
    assert {path[0] for path in found} == keys
    assert all(lines[number - 1].startswith(path[0]) for path, number in found.items())
