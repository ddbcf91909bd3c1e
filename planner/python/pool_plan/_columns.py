"""Converts buffers to columns of numbers. The buffers are rows or columns of any kind that Python supports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import ProblemError


@dataclass(frozen=True)
class Buffer:
    """A buffer that is live during the half-open time span `[lower, upper)`."""

    lower: int
    upper: int
    size: int
    """The size in bytes."""
    alignment: int = 1
    """The alignment, which is a power of two that divides the offset."""
    offset: int | None = None
    """The offset at which the buffer must be placed, if it is fixed."""
    id: str | None = None
    """The name of the buffer in messages. Without a name, messages show its index."""


def columns_of(buffers: Any) -> dict[str, Any]:
    """Returns the columns that the native module accepts, as the bytes of their arrays.

    Columns are any object that supports `["lower"]`, such as a dictionary, a structured array or a pandas table. Rows
    are `Buffer`s, or tuples with the same fields in the same order.
    """
    names = getattr(getattr(buffers, "dtype", None), "names", None)
    if isinstance(buffers, Mapping):
        return _of_columns(buffers, list(buffers.keys()))
    if names is not None:
        return _of_columns(buffers, list(names))
    if hasattr(buffers, "columns") and hasattr(buffers, "__getitem__"):
        return _of_columns(buffers, list(buffers.columns))
    return _of_rows(buffers)


def offsets_of(last: Any) -> bytes:
    """Returns the bytes of the offsets of an earlier plan, with -1 for each buffer that has no offset."""
    if last is None:
        return b""
    if not isinstance(last, np.ndarray):
        last = [-1 if offset is None else offset for offset in last]
    offsets: bytes = _column("last", last, np.int64).tobytes()
    return offsets


def _of_columns(buffers: Any, names: list[str]) -> dict[str, Any]:
    known = ["lower", "upper", "size", "alignment", "offset", "id"]
    for name in names:
        if name not in known:
            raise ProblemError(f"column {name!r} is not one of {', '.join(known)}")
    for name in known[:3]:
        if name not in names:
            raise ProblemError(f"there is no column {name!r}")
    optional = {name: buffers[name] for name in known[3:] if name in names}
    return _settled(buffers["lower"], buffers["upper"], buffers["size"], **optional)


def _of_rows(buffers: Iterable[Any]) -> dict[str, Any]:
    if isinstance(buffers, (str, bytes)) or not isinstance(buffers, Iterable):
        raise TypeError(f"buffers must be rows or columns, not {type(buffers).__name__}")
    rows = []
    for index, row in enumerate(buffers):
        if isinstance(row, Buffer):
            rows.append(row)
            continue
        try:
            rows.append(Buffer(*row))
        except TypeError as error:
            message = f"buffer {index}: {row!r} is not (lower, upper, size[, alignment[, offset[, id]]])"
            raise TypeError(message) from error
    ids = [str(index) if row.id is None else row.id for index, row in enumerate(rows)]
    has_ids = any(row.id is not None for row in rows)
    return _settled(
        [row.lower for row in rows],
        [row.upper for row in rows],
        [row.size for row in rows],
        alignment=[row.alignment for row in rows],
        offset=[-1 if row.offset is None else row.offset for row in rows],
        id=ids if has_ids else None,
    )


def _settled(
    lower: Any, upper: Any, size: Any, alignment: Any = None, offset: Any = None, id: Any = None
) -> dict[str, Any]:
    lower = _column("lower", lower, np.int64)
    count = len(lower)
    columns = {
        "lower": lower,
        "upper": _column("upper", upper, np.int64),
        "size": _column("size", size, np.uint64),
        "alignment": (
            np.ones(count, np.uint64) if alignment is None else _column("alignment", alignment, np.uint64)
        ),
        "offset": (
            np.full(count, -1, np.int64) if offset is None else _column("offset", offset, np.int64)
        ),
    }
    if columns["offset"].size and columns["offset"].min() < -1:
        raise ProblemError(f"offset {columns['offset'].min()} is negative")
    for name, column in columns.items():
        if len(column) != count:
            raise ProblemError(f"the column {name!r} has {len(column)} numbers, but 'lower' has {count}")
    names = None if id is None else _names(id)
    if names is not None and len(names) != count:
        raise ProblemError(f"the column 'id' has {len(names)} names, but 'lower' has {count} numbers")
    return {"id": names, **{name: column.tobytes() for name, column in columns.items()}}


def _names(ids: Any) -> list[str]:
    names = list(ids)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} is not a name: ids must be str")
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ProblemError(f"{name!r} is not a name: the string contains half of a surrogate pair") from error
    # numpy's strings are a separate type.
    return [str(name) for name in names]


def _column(name: str, values: Any, dtype: type[np.signedinteger] | type[np.unsignedinteger]) -> Any:
    """Returns a column as 64-bit integers. No number is rounded, wrapped or parsed."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, dtype)
    if array.ndim != 1:
        raise TypeError(f"{name!r} has {array.ndim} dimensions, but must have one")
    limits = np.iinfo(dtype)
    if array.dtype.kind in "iu":
        # Python's integers do not wrap.
        least, most = int(array.min()), int(array.max())
    else:
        # numpy converts integers beyond 64 bits to objects, and a mix of integers below and above 63 bits to floats.
        numbers = values if not isinstance(values, np.ndarray) else values.tolist()
        for number in numbers:
            if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
                raise TypeError(f"{name!r} has {number!r}, which is not a whole number")
        least, most = int(min(numbers)), int(max(numbers))
        array = np.array(numbers, object)
    for number in (least, most):
        if not limits.min <= number <= limits.max:
            raise OverflowError(f"{name!r} has {number}, which is not within {limits.min} to {limits.max}")
    return np.ascontiguousarray(array, dtype)
