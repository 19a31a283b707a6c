"""Mistakes in programs as text."""

from __future__ import annotations

import pickle

from jostle.errors import NOWHERE, Diagnostic, Label, ProgramError, Source, Span, render

SOURCE = Source(
    "programs/tree.jst", "def grow(D, d):\n    action = choose L1 among {stop, branch} informed by {len(D), d}\n"
)
MISTAKE = Diagnostic(
    "J201",
    "choice L1 looks at private data",
    Span(2, 58, 2, 64),
    "what a choice sees decides what runs next, so it shows in the output",
    "buy a noisy count first and look at that: n = noisyCount(D, e / 2)",
    label="private",
)


def test_the_form_of_a_message() -> None:
    assert render(SOURCE, [MISTAKE]) == (
        "error[J201]: choice L1 looks at private data\n"
        " --> programs/tree.jst:2:58\n"
        "  |\n"
        "2 |     action = choose L1 among {stop, branch} informed by {len(D), d}\n"
        "  |                                                          ^^^^^^ private\n"
        "  |\n"
        "  = why: what a choice sees decides what runs next, so it shows in the output\n"
        "  = fix: buy a noisy count first and look at that: n = noisyCount(D, e / 2)"
    )


def test_messages_come_in_source_order_with_an_empty_line_between() -> None:
    first = Diagnostic("J101", "first", Span(1, 1, 1, 4), "why", "fix")
    shown = render(SOURCE, [MISTAKE, first])
    assert shown.index("first") < shown.index("choice L1")
    assert shown.count("\n\n") == 1


def test_places_that_explain_are_shown_with_what_lies_between_left_out() -> None:
    source = Source("x", "\n".join(f"line{number}" for number in range(1, 13)))
    mistake = Diagnostic("J102", "twice", Span(12, 1, 12, 5), "w", "f", others=(Label(Span(2, 1, 2, 6), "first"),))
    assert render(source, [mistake]).splitlines()[2:8] == [
        "   |",
        " 2 | line2",
        "   | ----- first",
        "...",
        "12 | line12",
        "   | ^^^^",
    ]


def test_wide_characters_take_two_columns() -> None:
    source = Source("x", 'a = "日本" 4')
    shown = render(source, [Diagnostic("J014", "t", Span(1, 10, 1, 11), "w", "f")]).splitlines()
    assert shown[4] == "  |" + " " * 12 + "^"


def test_a_place_over_several_lines_is_marked_in_the_first() -> None:
    source = Source("x", "f(1,\n  2)")
    shown = render(source, [Diagnostic("J014", "t", Span(1, 1, 2, 5), "w", "f")]).splitlines()
    assert shown[3:5] == ["1 | f(1,", "  | ^^^^"]


def test_colour_only_when_asked_for() -> None:
    assert "\x1b" not in render(SOURCE, [MISTAKE])
    assert "\x1b[1;31merror[J201]" in render(SOURCE, [MISTAKE], colour=True)


def test_what_was_read_from_no_text_is_shown_without_one() -> None:
    shown = render(SOURCE, [Diagnostic("J901", "t", NOWHERE, "w", "f")])
    assert "= why: w" in shown


def test_a_program_error_survives_processes() -> None:
    error = ProgramError(SOURCE, [MISTAKE])
    again = pickle.loads(pickle.dumps(error))
    assert again.diagnostics == error.diagnostics
    assert str(again) == str(error) == render(SOURCE, [MISTAKE])
    assert error.title == "programs/tree.jst has 1 mistake"
