from typing import Any

VERSION: str

def plan(columns: dict[str, Any], wanted: dict[str, Any], last: bytes) -> dict[str, Any]: ...
def replay(
    path: str,
    format: str | None,
    allocators: list[str],
    alignment: int,
    wanted: dict[str, Any],
) -> tuple[str, str]: ...
