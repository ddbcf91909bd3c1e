from typing import Any

import numpy as np
import numpy.typing as npt

VERSION: str

def plan(
    columns: dict[str, Any], wanted: dict[str, Any]
) -> tuple[npt.NDArray[np.uint64], int, int, int, npt.NDArray[np.uintp], list[str]]: ...
def replay(
    path: str,
    format: str | None,
    allocators: list[str],
    alignment: int,
    wanted: dict[str, Any],
) -> tuple[str, str]: ...
