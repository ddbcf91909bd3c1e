"""Writes how each test of a run of pytest ends into a file, at once, so that it is known if the process does not end.

POOL_SUITE_RESULTS names the file. Tests that are in it already are left out: a run goes on where another one was broken
off. So are those of POOL_SUITE_LEFT_OUT, one a line. A process ends behind a test that has lost its context: all that come
after it would fail. A line is what became of a test, its name, the seconds it took, and what went
wrong.
"""

import os

import pytest

RESULTS = os.environ["POOL_SUITE_RESULTS"]
LEFT_OUT = set(os.environ.get("POOL_SUITE_LEFT_OUT", "").splitlines())


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """What numba-cuda's own conftest.py has, which is in its repository and not in its wheel."""
    request.cls._dump_failed_filechecks = False


def _write(*fields):
    with open(RESULTS, "a", encoding="utf-8") as file:
        file.write("\t".join(str(field).replace("\t", " ").replace("\n", " ") for field in fields) + "\n")


def _done():
    if not os.path.exists(RESULTS):
        return set()
    with open(RESULTS, encoding="utf-8") as file:
        return {line.split("\t")[1] for line in file.read().splitlines() if line}


def pytest_collection_modifyitems(config, items):
    done = _done() | LEFT_OUT
    left = [item for item in items if item.nodeid not in done]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
    items[:] = left


def pytest_collectreport(report):
    if report.failed:
        _write("uncollected", report.nodeid, 0, _reason(report))


def pytest_runtest_logstart(nodeid, location):
    _write("started", nodeid, 0, "")


def _reason(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    lines = [line for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-3:])[-400:] if lines else ""


def pytest_runtest_logreport(report):
    # The setup and the teardown of a test can also fail.
    if report.passed and (report.when != "call" or type(report) is not pytest.TestReport):
        return
    if report.skipped:
        expected = hasattr(report, "wasxfail")
        reason = report.wasxfail if expected else report.longrepr[2]
        _write("expected" if expected else "skipped", report.nodeid, report.duration, reason)
    else:
        _write(report.outcome, report.nodeid, report.duration, "" if report.passed else _reason(report))
    if report.failed:
        _failed.add(report.nodeid)


# The exit code that requests a new process for the remaining tests.
_BROKEN = 86
# The tests that have failed in this process.
_failed = set()
# Return codes that show that nothing was lost: success, not initialised, no context, a context destroyed on purpose.
_SOUND = (0, 3, 201, 709)


def pytest_runtest_logfinish(nodeid, location):
    if nodeid not in _failed:
        return
    from cuda.bindings import driver

    (answer,) = driver.cuCtxSynchronize()
    if int(answer) not in _SOUND:
        print(f"{nodeid} has lost its context: {answer}", flush=True)
        os._exit(_BROKEN)


def pytest_keyboard_interrupt(excinfo):
    # A file that cannot be collected also interrupts the session, and has already been recorded.
    if not isinstance(excinfo.value, pytest.Session.Interrupted):
        os._exit(_BROKEN)
