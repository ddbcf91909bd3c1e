"""Plans: offsets, certificates, what buffers may be given as, and what is refused."""

import random
import subprocess
import sys
import threading
import time

import numpy as np
import pool_plan
import pytest

FOUR = [(2, 6, 8), (3, 8, 8), (3, 10, 8), (6, 12, 10)]


def overlaps(rows, offsets):
    """The pairs that share bytes at one time, by a second look that shares nothing with the planner."""
    found = []
    for one in range(len(rows)):
        for other in range(one):
            times = rows[one][0] < rows[other][1] and rows[other][0] < rows[one][1]
            low, high = int(offsets[one]), int(offsets[other])
            if times and low < high + rows[other][2] and high < low + rows[one][2]:
                found.append((other, one))
    return found


def test_the_example_is_planned():
    plan = pool_plan.plan(FOUR)
    certificate = plan.certificate
    assert (plan.peak, certificate.peak, certificate.bound, certificate.ratio) == (26, 26, 26, 1.0)
    assert certificate.is_optimal
    assert plan.offsets.dtype == np.uint64 and plan.offsets.shape == (4,)
    assert certificate.witness.dtype == np.uintp and certificate.witness.ndim == 1
    assert plan.offsets.flags.writeable and certificate.witness.flags.writeable
    assert overlaps(FOUR, plan.offsets) == []
    assert sum(FOUR[index][2] for index in certificate.witness) == 26
    assert (plan.stopped, plan.proof) == ("optimal", "witness")
    assert plan.untried == () or all(isinstance(name, str) for name in plan.untried)


def test_random_problems_are_planned_within_their_certificate():
    draw = random.Random(7)
    for _ in range(40):
        rows = []
        for _ in range(draw.randint(1, 40)):
            lower = draw.randint(-50, 50)
            rows.append((lower, lower + draw.randint(1, 30), draw.randint(0, 999)))
        plan = pool_plan.plan(rows, rounds=1)
        assert overlaps(rows, plan.offsets) == []
        ends = [int(offset) + row[2] for offset, row in zip(plan.offsets, rows)]
        live = max(
            sum(size for lower, upper, size in rows if lower <= at < upper)
            for at in {row[0] for row in rows}
        )
        assert plan.certificate.bound == live
        assert max(ends) == plan.peak >= live


def test_rows_and_columns_are_the_same():
    expected = pool_plan.plan(FOUR, rounds=1).offsets
    lower, upper, size = (np.array(column) for column in zip(*FOUR))
    structured = np.array(FOUR, dtype=[("lower", "i4"), ("upper", "i8"), ("size", "u2")])

    class Table:
        """As pandas has it."""

        columns = ["lower", "upper", "size"]

        def __getitem__(self, name):
            return structured[name]

    given = [
        [pool_plan.Buffer(*row) for row in FOUR],
        iter(FOUR),
        {"lower": lower, "upper": upper, "size": size},
        {"lower": list(lower), "upper": upper.astype(np.int16), "size": size.astype(np.uint8)},
        {"lower": lower[::-1][::-1], "upper": upper, "size": np.repeat(size, 2)[::2]},
        structured,
        Table(),
    ]
    for buffers in given:
        assert (pool_plan.plan(buffers, rounds=1).offsets == expected).all()


def test_alignments_offsets_and_names_are_kept():
    rows = [(0, 4, 100, 256, None, "a"), (1, 5, 10, 64, 1024, "b"), (2, 6, 7, 1, None, "ünïcode")]
    plan = pool_plan.plan(rows)
    assert plan.offsets[1] == 1024
    assert all(int(offset) % row[3] == 0 for offset, row in zip(plan.offsets, rows))
    with pytest.raises(pool_plan.ProblemError, match="ünïcode"):
        pool_plan.plan([rows[2], rows[2]])


def test_seed_and_rounds_decide_the_plan():
    draw = random.Random(1)
    rows = [(at, at + draw.randint(1, 40), draw.randint(1, 10**6)) for at in range(300)]
    first = pool_plan.plan(rows, rounds=2, seed=5, threads=1)
    assert (pool_plan.plan(rows, rounds=2, seed=5, threads=2).offsets == first.offsets).all()


def test_a_plan_starts_from_the_last_one():
    draw = random.Random(9)
    rows = [(at, at + draw.randint(1, 40), draw.randint(1, 10**6)) for at in range(300)]
    first = pool_plan.plan(rows, rounds=3, threads=1)
    # One buffer ends earlier. The plan is no worse than the last one, however little time there is.
    rows[17] = (rows[17][0], rows[17][0] + 1, rows[17][2])
    again = pool_plan.plan(rows, budget=0, threads=1, last=first.offsets)
    assert again.peak <= first.peak and overlaps(rows, again.offsets) == []
    assert again.proof in ("witness", "search") or again.stopped == "budget"
    some = [None, *first.offsets[1:]]
    assert overlaps(rows, pool_plan.plan(rows, budget=0, last=some).offsets) == []
    with pytest.raises(TypeError, match="last"):
        pool_plan.plan(rows, last=[0.5])


def test_a_capacity_that_nothing_fits_is_an_exception_with_numbers():
    with pytest.raises(pool_plan.InfeasibleError) as caught:
        pool_plan.plan(FOUR, capacity=25)
    error = caught.value
    assert (error.capacity, error.bound) == (25, 26)
    assert sum(FOUR[index][2] for index in error.witness) == 26
    assert "25" in str(error) and "26" in str(error)
    assert isinstance(error, pool_plan.PoolPlanError) and not isinstance(error, ValueError)


def test_a_capacity_that_only_a_search_refutes():
    # Two of three sizes are live at a time. No offsets can place them within the number of live bytes.
    rows = [(0, 2, 3), (1, 4, 2), (3, 6, 3), (5, 8, 2), (0, 8, 1), (2, 3, 3), (4, 5, 3), (6, 7, 4)]
    plan = pool_plan.plan(rows)
    if plan.certificate.is_optimal and plan.peak > plan.certificate.bound:
        with pytest.raises(pool_plan.InfeasibleError) as caught:
            pool_plan.plan(rows, capacity=plan.peak - 1)
        assert caught.value.best == plan.peak
    assert pool_plan.plan(rows, capacity=plan.peak).peak <= plan.peak


@pytest.mark.parametrize(
    ("buffers", "error", "says"),
    [
        ([], pool_plan.ProblemError, "no buffers"),
        ({"lower": [], "upper": [], "size": []}, pool_plan.ProblemError, "no buffers"),
        ([(4, 4, 1)], pool_plan.ProblemError, r"\[4, 4\)"),
        ([(4, 3, 1)], pool_plan.ProblemError, "inverted"),
        ([(0, 1, 1, 3)], pool_plan.ProblemError, "alignment 3"),
        ([(0, 1, 1, 0)], pool_plan.ProblemError, "alignment 0"),
        ([(0, 1, 1, 4, 6)], pool_plan.ProblemError, "multiple of 4"),
        ([(0, 1, 1, 1, -2)], pool_plan.ProblemError, "is negative"),
        ([(0, 2, 4, 1, 0), (1, 3, 4, 1, 2)], pool_plan.ProblemError, "collide"),
        ([(0, 1, 2**63), (0, 1, 1)], pool_plan.ProblemError, str(2**63)),
        ([(0, 1, 2**62), (0, 1, 2**62)], pool_plan.ProblemError, str(2**62)),
        ([(0, 1, -1)], OverflowError, "-1"),
        ([(0, 1, 2**64)], OverflowError, str(2**64)),
        ([(0, 2**63, 1)], OverflowError, str(2**63)),
        ([(-(2**63) - 1, 1, 1)], OverflowError, str(2**63 + 1)),
        ([(0, 1, 10**400)], OverflowError, "not within"),
        ([(0, 1, 2**64 - 1, 1), (0, 1, -1, 1)], OverflowError, "-1"),
        ([(0, 1, 1.0)], TypeError, "1.0"),
        ([(0, 1, float("nan"))], TypeError, "nan"),
        ([(0, 1, True)], TypeError, "True"),
        ([(0, 1, "8")], TypeError, "8"),
        ([(0, 1, None)], TypeError, "None"),
        ([(0, 1)], TypeError, "buffer 0"),
        ([(0, 1, 1, 1, None, "a", 7)], TypeError, "buffer 0"),
        ([(0, 1, 1, 1, None, 7)], TypeError, "7"),
        ([(0, 1, 1, 1, None, "\ud800")], pool_plan.ProblemError, "half of a surrogate pair"),
        ([None], TypeError, "None"),
        (None, TypeError, "NoneType"),
        (7, TypeError, "int"),
        ("lower,upper,size", TypeError, "str"),
        ({"lower": [0], "upper": [1]}, pool_plan.ProblemError, "size"),
        ({"lower": [0], "upper": [1], "size": [1], "sise": [1]}, pool_plan.ProblemError, "sise"),
        ({"lower": [0], "upper": [1, 2], "size": [1]}, pool_plan.ProblemError, "2 numbers"),
        ({"lower": [0], "upper": [1], "size": [1], "id": ["a", "b"]}, pool_plan.ProblemError, "2 names"),
        ({"lower": [[0]], "upper": [1], "size": [1]}, TypeError, "2 dimensions"),
        ({"lower": 0, "upper": 1, "size": 1}, TypeError, "0 dimensions"),
        ({"lower": [0.5], "upper": [1], "size": [1]}, TypeError, "0.5"),
        ({"lower": np.array([0j]), "upper": [1], "size": [1]}, TypeError, "0j"),
        ({"lower": np.array(["2020-01-01"], "M8[D]"), "upper": [1], "size": [1]}, TypeError, "date"),
        ({"lower": [0], "upper": [1], "size": np.array([-1], np.int8)}, OverflowError, "-1"),
        ({"lower": np.array([2**63], np.uint64), "upper": [1], "size": [1]}, OverflowError, str(2**63)),
    ],
)
def test_what_cannot_be_meant_is_refused(buffers, error, says):
    with pytest.raises(error, match=says):
        pool_plan.plan(buffers)
    assert pool_plan.plan(FOUR, rounds=0).peak >= 26, "the interpreter goes on"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"capacity": -1}, OverflowError),
        ({"capacity": 2**64}, OverflowError),
        ({"capacity": 1.5}, TypeError),
        ({"budget": -1}, ValueError),
        ({"budget": float("nan")}, ValueError),
        ({"budget": float("inf")}, ValueError),
        ({"budget": 1e300}, ValueError),
        ({"budget": "10s"}, TypeError),
        ({"rounds": -1}, OverflowError),
        ({"rounds": 2**32}, OverflowError),
        ({"tolerance": 0.5}, pool_plan.ProblemError),
        ({"tolerance": float("nan")}, pool_plan.ProblemError),
        ({"tolerance": float("inf")}, pool_plan.ProblemError),
        ({"seed": -1}, OverflowError),
        ({"threads": 0}, ValueError),
        ({"threads": 10**6}, ValueError),
        ({"threads": -1}, OverflowError),
    ],
)
def test_options_that_mean_nothing_are_refused(options, error):
    with pytest.raises(error):
        pool_plan.plan(FOUR, **options)


def test_more_than_is_planned_is_an_exception_with_numbers():
    count = (1 << 20) + 1
    lower = np.arange(count)
    with pytest.raises(pool_plan.TooManyError) as caught:
        pool_plan.plan({"lower": lower, "upper": lower + 1, "size": np.ones(count, np.uint8)})
    error = caught.value
    assert (error.count, error.limit) == (count, 1 << 20)
    assert isinstance(error, ValueError)


def test_extreme_times_are_planned():
    least, most = -(2**63), 2**63 - 1
    plan = pool_plan.plan([(least, most, 5), (most - 1, most, 7), (least, least + 1, 0)], rounds=1)
    assert plan.peak == 12


def test_other_threads_run_meanwhile():
    draw = random.Random(3)
    rows = [(at, at + draw.randint(1, 60), draw.randint(1, 10**6)) for at in range(2000)]
    ticks = []
    is_done = threading.Event()

    def tick():
        while not is_done.wait(0.01):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    plan = pool_plan.plan(rows, budget=0.5, threads=1)
    is_done.set()
    ticker.join()
    if plan.certificate.ratio > 1.0:
        assert len(ticks) > 3


INTERRUPTED = """
import _thread, random, threading, time, pool_plan
draw = random.Random(3)
rows = [(at, at + draw.randint(1, 60), draw.randint(1, 10**6)) for at in range(400)]
threading.Timer(0.5, _thread.interrupt_main).start()
start = time.monotonic()
try:
    plan = pool_plan.plan(rows, budget=60, capacity=None, threads=1)
    print("ended", plan.certificate.ratio)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 30)
print(pool_plan.plan([(0, 1, 8)]).peak)
"""


def test_an_interrupt_ends_a_plan():
    answer = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=100
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split("\n")[0] == "interrupted True", answer.stdout
    assert answer.stdout.split("\n")[1] == "8"


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert pool_plan.__version__ == version("pool-plan")
