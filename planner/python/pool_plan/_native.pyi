from typing import Any

import numpy as np
import numpy.typing as npt

VERSION: str

def plan(
    columns: dict[str, Any], wanted: dict[str, Any], last: npt.NDArray[np.int64]
) -> dict[str, Any]: ...
def replay(
    path: str,
    format: str | None,
    allocators: list[str],
    alignment: int,
    wanted: dict[str, Any],
) -> tuple[str, str]: ...
