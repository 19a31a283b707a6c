"""Texts and the trees they stand for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from jostle.errors import JostleError, ProgramError, Source, Span
from jostle.lang import nodes
from jostle.lang.nodes import Name, Noised, Number, Part, Percent, Select
from jostle.lang.parser import parse, parse_expression, parse_text, read_source

PROGRAMS = Path(__file__).parents[2] / "programs"


def tree(text: str) -> nodes.Module:
    return parse(Source("text", text))


def only(text: str) -> nodes.Statement:
    (statement,) = tree(text).body
    return statement


def test_numbers_are_exactly_what_is_written() -> None:
    for text, value in {
        "0.1": Fraction(1, 10),
        "1e-6": Fraction(1, 10**6),
        ".5": Fraction(1, 2),
        "1_000": Fraction(1000),
        "2.50E2": Fraction(250),
    }.items():
        assert parse_expression(text) == Number(value)
    share = parse_expression("5%")
    assert share == Percent(Fraction(5))
    assert isinstance(share, Percent)
    assert share.share == Fraction(1, 20)


def test_percent_and_remainder_are_told_apart_by_a_space() -> None:
    assert parse_expression("5 % 3") == nodes.BinaryOperation(Number(Fraction(5)), "%", Number(Fraction(3)))
    assert parse_expression("n % 3") == parse_expression("n%3")
    assert parse_expression("5% * n") == nodes.BinaryOperation(Percent(Fraction(5)), "*", Name("n"))


def test_strings() -> None:
    assert parse_expression(r'"a\n\"\\\u00e9"') == nodes.String('a\n"\\é')
    assert parse_expression("'#not a comment'") == nodes.String("#not a comment")


def test_noise_and_what_it_spends() -> None:
    count = nodes.Call(Name("len"), (Name("D"),))
    assert parse_expression("{{ len(D) }}") == Noised(count)
    assert parse_expression("{{ len(D) }} spending e / 2") == Noised(
        count, nodes.BinaryOperation(Name("e"), "/", Number(Fraction(2)))
    )
    assert parse_expression("{{ len(D) }} / 2") == nodes.BinaryOperation(Noised(count), "/", Number(Fraction(2)))


def test_select_in_a_call_takes_all_commas() -> None:
    assert parse_expression("stddev(select sum(values) from db where n > 0 groupby x / g, y)") == nodes.Call(
        Name("stddev"),
        (
            Select(
                "sum",
                Name("values"),
                Name("db"),
                nodes.Comparison(Name("n"), (">",), (Number(Fraction(0)),)),
                (nodes.BinaryOperation(Name("x"), "/", Name("g")), Name("y")),
            ),
        ),
    )
    assert parse_expression("select count(*) from D[a = v]") == Select(
        "count", None, Part(Name("D"), (nodes.Condition(Name("a"), Name("v")),))
    )


def test_parts_and_indices() -> None:
    condition = nodes.Condition(Name("best"), Name("v"))
    assert parse_expression("D[best = v]") == Part(Name("D"), (condition,))
    assert parse_expression("D[best = v, best = v,]") == Part(Name("D"), (condition, condition))
    assert parse_expression("xs[0]") == nodes.Index(Name("xs"), Number(Fraction(0)))


def test_the_choice_maker_of_figure_1_2() -> None:
    module = tree((PROGRAMS / "histogram.jst").read_text("utf-8"))
    maker = next(node for node in nodes.walk(module) if isinstance(node, nodes.MakeChoiceMaker))
    assert maker == nodes.MakeChoiceMaker(
        among=nodes.Set((Name("DAWA"), Name("MWEM"), Name("AdaptiveGrid"), Name("Flat"))),
        informed_by=nodes.Set((Name("scale"), Name("uniformity"), Name("sparsity"))),
        trained_on=Name("trainingSet"),
    )
    flat = next(node for node in module.body if isinstance(node, nodes.FunctionDefinition) and node.name == "Flat")
    assert flat.is_option
    answer = flat.body[-1]
    assert isinstance(answer, nodes.Return)
    assert isinstance(answer.value, nodes.Over)


def test_clauses_may_stand_in_any_order_and_on_lines_of_their_own() -> None:
    together = tree("m = MkChoiceMaker among {A, B} informed by {f} trained on a | b judged by g spending 5%\n")
    apart = tree(
        "m = MkChoiceMaker\n    spending 5%\n# why\namong {A, B}\n  judged by g\n\n  trained on a | b\n informed by {f}"
    )
    assert together == apart


def test_the_words_of_clauses_are_names_elsewhere() -> None:
    assert tree("informed = by + trained\non = judged\n") == nodes.Module(
        (
            nodes.Assign(Name("informed"), nodes.BinaryOperation(Name("by"), "+", Name("trained"))),
            nodes.Assign(Name("on"), Name("judged")),
        )
    )


def test_the_labelled_choices_of_figure_4_3() -> None:
    module = tree((PROGRAMS / "jostled_tree.jst").read_text("utf-8"))
    labels = [node.label for node in nodes.walk(module) if isinstance(node, nodes.Choose)]
    assert labels == ["L1", "L2"]


def test_the_classes_of_chapter_5() -> None:
    module = tree((PROGRAMS / "dawa_class.jst").read_text("utf-8"))
    first, second = (node for node in module.body if isinstance(node, nodes.ClassDefinition))
    assert first.base == second.base == "Option"
    predict = second.method("predict")
    assert predict is not None
    assert [each.name for each in predict.parameters] == ["F"]
    assert second.method("learn") is None
    assert parse_expression("1-(F.sparsity)^2") == parse_expression("1 - F.sparsity ** 2")


def test_blocks_on_one_line_and_branches() -> None:
    assert only("if a: return\nelif b:\n  pass\nelse: x = 1\n") == nodes.If(
        (
            nodes.Branch(Name("a"), (nodes.Return(),)),
            nodes.Branch(Name("b"), (nodes.Pass(),)),
            nodes.Branch(None, (nodes.Assign(Name("x"), Number(Fraction(1))),)),
        )
    )


def test_marks_stand_right_above_functions() -> None:
    marked = only("# Option\ndef f(db): return 1\n")
    assert isinstance(marked, nodes.FunctionDefinition)
    assert marked.marks == ("Option",)
    assert parse_text(Source("text", "#Option\n\ndef f(db): return 1\n")).diagnostics[0].code == "J010"


def test_lines_go_on_inside_brackets_whatever_their_indentation() -> None:
    assert tree("def f(\n  a,\nb\n):\n    return [\n1,\n        2 # two\n  ]\n") == tree(
        "def f(a, b):\n  return [1, 2]\n"
    )


def test_all_ends_of_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.jst"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\ny = 2\rz = 3")
    assert len(parse(read_source(path)).body) == 3


def test_spans_say_where_things_stand() -> None:
    text = "def f(db):\n    n = {{ len(db) }}\n    return n + 1\n"
    module = tree(text)
    noised = next(node for node in nodes.walk(module) if isinstance(node, Noised))
    assert noised.span == Span(2, 9, 2, 22)
    function = module.body[0]
    assert isinstance(function, nodes.FunctionDefinition)
    assert function.span == Span(1, 1, 3, 17)
    assert function.name_span == Span(1, 5, 1, 6)


def test_spans_of_children_lie_in_those_of_their_parents() -> None:
    for path in PROGRAMS.glob("*.jst"):
        for node in nodes.walk(tree(path.read_text("utf-8"))):
            start, end = (node.span.line, node.span.column), (node.span.end_line, node.span.end_column)
            assert start < end
            for child in nodes.children(node):
                assert start <= (child.span.line, child.span.column)
                assert (child.span.end_line, child.span.end_column) <= end


def test_the_source_of_a_span_is_the_text_of_its_node() -> None:
    text = "x = max([size(a) for a in atts]) / (2 if d == 0 else D[a = v])\n"
    for node in nodes.walk(tree(text)):
        if isinstance(node, nodes.ExpressionNode):
            assert parse_expression(text[node.span.column - 1 : node.span.end_column - 1]) == node


def test_all_mistakes_are_raised_together() -> None:
    with pytest.raises(ProgramError, match="J005") as caught:
        tree("x = = 1\ny = 2\nz = (3\n")
    assert caught.value.title == "text has 2 mistakes"
    assert [each.code for each in caught.value.diagnostics] == ["J007", "J005"]
    assert "text:1:5" in str(caught.value)
    assert "text:3:5" in str(caught.value)


def test_what_is_no_program_file(tmp_path: Path) -> None:
    with pytest.raises(JostleError, match="cannot read"):
        read_source(tmp_path / "none.jst")
    path = tmp_path / "latin.jst"
    path.write_bytes("größe = 1".encode("latin-1"))
    with pytest.raises(JostleError, match="it is not UTF-8 text"):
        read_source(path)
    with pytest.raises(JostleError, match="not one expression"):
        parse_expression("x = 1")
