"""Offline memory planning with a certificate, and replays of allocator logs.

>>> import pool_plan
>>> plan = pool_plan.plan([(2, 6, 8), (3, 8, 8), (3, 10, 8), (6, 12, 10)])
>>> plan.certificate.peak, plan.certificate.bound
(26, 26)

`plan` computes offsets for buffers whose lifetimes are known. `replay` reads the log of an allocator. It reports the
maximum number of bytes that the allocator held, and the number of bytes that would have been sufficient.
"""

from ._columns import Buffer
from ._errors import (
    InfeasibleError,
    InternalError,
    LogError,
    NotFoundError,
    PoolPlanError,
    ProblemError,
    TooManyError,
)
from ._native import VERSION as __version__
from ._planning import Certificate, Plan, plan
from ._replaying import ALLOCATORS, Device, Event, Fault, Held, Pool, Report, replay

__all__ = [
    "ALLOCATORS",
    "Buffer",
    "Certificate",
    "Device",
    "Event",
    "Fault",
    "Held",
    "InfeasibleError",
    "InternalError",
    "LogError",
    "NotFoundError",
    "Plan",
    "Pool",
    "PoolPlanError",
    "ProblemError",
    "Report",
    "TooManyError",
    "__version__",
    "plan",
    "replay",
]
