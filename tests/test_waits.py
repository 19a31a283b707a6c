"""Nothing in the tests waits without a limit, or hangs on how they were started."""

from __future__ import annotations

import ast
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import LIMIT, ran, started

from jostle.choice.learning.workers import quiet_interrupts
from jostle.interrupts import interrupts_ignored

HERE = Path(__file__).parent
STARTED = {"run", "call", "check_call", "check_output", "Popen"}
WAITING = {"wait", "join", "communicate", "acquire", "result"}
"""Methods that wait: without an argument for ever, but for `communicate`, whose argument may be what is sent."""


def endless(text: str) -> Iterator[int]:
    """Yield the lines of calls that may wait for ever."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        limited = any(each.arg == "timeout" for each in node.keywords)
        starts = ast.unparse(node.func.value) == "subprocess" and node.func.attr in STARTED
        waits = node.func.attr in WAITING and (node.func.attr == "communicate" or not node.args)
        if (starts or waits) and not limited:
            yield node.lineno


def test_every_wait_has_a_limit() -> None:
    found = {
        f"{path.relative_to(HERE)}:{line}"
        for path in HERE.rglob("*.py")
        if path.name != "processes.py"
        for line in endless(path.read_text("utf-8"))
    }
    assert not found, "use processes.ran, started or together, or give a timeout"


@pytest.mark.parametrize(
    "text",
    ["subprocess.run(['a'])", "subprocess.Popen('a')", "p.wait()", "t.join()", "p.communicate('x')", "lock.acquire()"],
)
def test_a_wait_without_a_limit_would_be_found(text: str) -> None:
    assert list(endless(text)) == [1]
    assert not list(endless("p.wait(LIMIT); ', '.join(x); p.communicate(timeout=1); subprocess.run('a', timeout=1)"))


@pytest.mark.parametrize("ignored", [True, False])
def test_what_is_started_hears_ctrl_c_however_the_tests_were_started(ignored: bool) -> None:
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        assert ran("-c", code).stdout == "True\n"
        with started("-c", code, hears=False, stdout=subprocess.PIPE) as deaf:
            assert deaf.communicate(timeout=LIMIT)[0] == "False\n"
    finally:
        signal.signal(signal.SIGINT, before)


def test_whoever_was_started_to_ignore_ctrl_c_ignores_it_among_workers() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_ignored(), quiet_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with quiet_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
