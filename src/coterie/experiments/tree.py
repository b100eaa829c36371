"""Trees of arrays and plain values as JSON beside arrays: what a checkpoint is made of, without pickle.

Loading runs no code that a file names: a dataclass is rebuilt only if a module that is already imported
defines it, by calling it with its fields, so its own checks run again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Arrays = dict[str, NDArray[Any]]
_PLAIN = (bool, int, str, type(None))
_SPARSE = {"csr": sparse.csr_array, "csc": sparse.csc_array}


def flatten(value: Any) -> tuple[Any, Arrays]:
    """Splits a tree into something that JSON can hold and the arrays that it cannot.

    >>> flatten({"t": 3, "loss": (0.5, float("nan")), "w": np.zeros(2)})
    ({'t': 3, 'loss': {'$tuple': [0.5, {'$float': 'nan'}]}, 'w': {'$array': 'a0'}}, {'a0': array([0., 0.])})
    """
    arrays: Arrays = {}
    return _flat(value, arrays, "state"), arrays


def rebuild(node: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Undoes `flatten`.

    >>> rebuild(*flatten({1: [np.float32(0.5)], "none": None}))
    {1: [np.float32(0.5)], 'none': None}
    """
    if isinstance(node, list):
        return [rebuild(item, arrays) for item in node]
    if not isinstance(node, dict):
        return node
    tag = next((key for key in node if key.startswith("$")), None)
    if tag is None:
        return {key: rebuild(item, arrays) for key, item in node.items()}
    return _REBUILD[tag](node, arrays)


def _flat(value: Any, arrays: Arrays, where: str) -> Any:
    if type(value) in _PLAIN:
        return value
    if type(value) is float:
        return value if np.isfinite(value) else {"$float": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, np.generic | np.ndarray):
        return {"$array" if isinstance(value, np.ndarray) else "$scalar": _store(np.asarray(value), arrays, where)}
    if isinstance(value, list):
        return [_flat(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]
    if type(value) is tuple:
        return {"$tuple": [_flat(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]}
    if isinstance(value, set | frozenset):
        return {"$set": [_flat(item, arrays, where) for item in sorted(value)], "frozen": isinstance(value, frozenset)}
    return _flat_composite(value, arrays, where)


def _flat_composite(value: Any, arrays: Arrays, where: str) -> Any:
    if isinstance(value, dict | MappingProxyType):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _flat(item, arrays, f"{where}.{key}") for key, item in value.items()}
        pairs = [[_flat(key, arrays, where), _flat(item, arrays, f"{where}[{key!r}]")] for key, item in value.items()]
        return {"$dict": pairs}
    if sparse.issparse(value) and value.format in _SPARSE:
        parts = [_store(part, arrays, where) for part in (value.data, value.indices, value.indptr)]
        return {"$sparse": value.format, "shape": list(value.shape), "parts": parts}
    if is_dataclass(value) and not isinstance(value, type):
        if not value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise TypeError(f"{where}: a {type(value).__name__} must be a frozen dataclass to be in a checkpoint")
        given = {f.name: _flat(getattr(value, f.name), arrays, f"{where}.{f.name}") for f in fields(value) if f.init}
        return {"$dataclass": f"{type(value).__module__}:{type(value).__qualname__}", "fields": given}
    raise TypeError(
        f"{where}: a {type(value).__name__} cannot be in a checkpoint; arrays, plain values, tuples, lists, dicts, "
        "sets, sparse matrices and frozen dataclasses can"
    )


def _store(array: NDArray[Any], arrays: Arrays, where: str) -> str:
    if array.dtype.hasobject:
        raise TypeError(f"{where}: an array of objects cannot be in a checkpoint")
    name = f"a{len(arrays)}"
    arrays[name] = array
    return name


def _rebuild_sparse(node: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    parts = tuple(arrays[name] for name in node["parts"])
    return _SPARSE[node["$sparse"]](parts, shape=tuple(node["shape"]))


def _rebuild_dataclass(node: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    module, _, name = node["$dataclass"].partition(":")
    kind: Any = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise ValueError(f"checkpoint: '{node['$dataclass']}' is no frozen dataclass of an imported module")
    return kind(**{key: rebuild(item, arrays) for key, item in node["fields"].items()})


_REBUILD: dict[str, Any] = {
    "$float": lambda node, arrays: float(node["$float"]),
    "$bytes": lambda node, arrays: bytes.fromhex(node["$bytes"]),
    "$array": lambda node, arrays: arrays[node["$array"]],
    "$scalar": lambda node, arrays: arrays[node["$scalar"]][()],
    "$tuple": lambda node, arrays: tuple(rebuild(item, arrays) for item in node["$tuple"]),
    "$set": lambda node, arrays: (frozenset if node["frozen"] else set)(rebuild(item, arrays) for item in node["$set"]),
    "$dict": lambda node, arrays: {rebuild(key, arrays): rebuild(item, arrays) for key, item in node["$dict"]},
    "$sparse": _rebuild_sparse,
    "$dataclass": _rebuild_dataclass,
}
