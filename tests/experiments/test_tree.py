import json
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from coterie.experiments import tree


@dataclass(frozen=True, eq=False)
class Belief:
    """A state such as rules have."""

    trust: np.ndarray
    seen: tuple[int, ...] = ()
    derived: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if len(self.trust) == 0:
            raise ValueError("trust: must not be empty")


@dataclass
class Loose:
    """No frozen dataclass."""

    x: int = 0


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=8)
numbers = arrays.arrays(
    st.sampled_from([np.float32, np.float64, np.int64, np.bool_, np.uint8]), arrays.array_shapes(min_dims=0, min_side=0)
)
keys = st.text() | st.integers() | st.tuples(st.integers(), st.text())
trees = st.recursive(
    plain | numbers,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(keys, inner)
        | st.frozensets(st.integers())
        | st.sets(st.text())
    ),
    max_leaves=12,
)


def through_json(value):
    node, found = tree.flatten(value)
    return tree.rebuild(json.loads(json.dumps(node)), found)


def same(one, other) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return one == other or (one != one and other != other)


@given(trees)
def test_what_goes_in_comes_out(value):
    assert same(through_json(value), value)


def test_scalars_sparse_matrices_and_frozen_dataclasses():
    matrix = sparse.csr_array(np.array([[0, 1.5], [0, 0]]))
    back = through_json({"m": matrix, "b": Belief(np.ones(2), (1, 2)), "s": np.float32(0.1), "p": MappingProxyType({"a": 1})})
    assert type(back["m"]) is sparse.csr_array
    assert (back["m"] != matrix).nnz == 0
    assert isinstance(back["b"], Belief)
    assert back["b"].seen == (1, 2)
    assert back["s"].dtype == np.float32
    assert back["p"] == {"a": 1}


@pytest.mark.parametrize("value", [object(), Loose(), {"a": [np.array([object()])]}, np.random.default_rng(1), print])
def test_what_cannot_be_in_a_checkpoint_is_refused_with_its_place(value):
    with pytest.raises(TypeError, match=r"cannot be in a checkpoint|must be a frozen dataclass"):
        tree.flatten({"rule": value})


def test_the_place_is_named():
    with pytest.raises(TypeError, match=r"state\.selector\[1\]"):
        tree.flatten({"selector": (1, object())})


@pytest.mark.parametrize(
    "name", ["os:system", "not_imported_anywhere:Belief", f"{__name__}:Loose", f"{__name__}:through_json", ":"]
)
def test_a_file_can_only_name_frozen_dataclasses_of_imported_modules(name):
    with pytest.raises(ValueError, match="no frozen dataclass"):
        tree.rebuild({"$dataclass": name, "fields": {}}, {})


def test_a_rebuilt_dataclass_checks_itself_again():
    with pytest.raises(ValueError, match="must not be empty"):
        tree.rebuild({"$dataclass": f"{__name__}:Belief", "fields": {"trust": {"$array": "a"}}}, {"a": np.empty(0)})
