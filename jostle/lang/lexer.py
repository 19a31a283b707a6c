"""From a text to logical lines of tokens.

A logical line is a statement, or the head of one with a block. It goes on over line ends inside brackets, and when the
next line starts with a word such as `informed by`. Nothing in a text stops the lexer: what it cannot read is reported,
the line is marked as broken, and reading goes on.
"""

from __future__ import annotations

import re

from attrs import define, evolve, field, frozen

from jostle.errors import Diagnostic, Source, Span
from jostle.lang import lexical_mistakes as mistakes
from jostle.lang.tokens import CLAUSE_WORDS, CONTINUING, FOREIGN, KEYWORDS, SIGNS, Line, Token

__all__ = ["MOST_MISTAKES", "Comment", "Scan", "scan"]

MOST_MISTAKES = 100
"""After so many, the rest of a text is not worth reading."""
MOST_DIGITS, MOST_EXPONENT = 60, 99
"""Longer numbers are slips, and exact arithmetic on them would take forever."""
MOST_BRACKETS = 60
"""Brackets in brackets; people stop long before."""
TAB = 4

_PIECE = re.compile(
    r"""(?P<space>[ ]+)
      | (?P<number>(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<sign>==|!=|<=|>=|//|\*\*|[\^%,=:()\[\]{}*<>|&+\-/.])""",
    re.VERBOSE,
)
_TRIPLE = re.compile(r'"""|' + "'''")
_ENDS = {"(": ")", "[": "]", "{": "}", "{{": "}}"}
_STARTS_STATEMENT = re.compile(r"(?:def|class|return|elif|pass)\b|#\s*(?:Option|Metafeature)\s*$")


@frozen
class Comment:
    """A comment on a line of its own, or an empty line."""

    column: int
    """How far in it stands; a large number for an empty line."""
    text: str
    span: Span


@frozen
class Scan:
    """What the lexer found."""

    lines: list[Line]
    gaps: list[list[Comment]]
    """Comments and empty lines before each line, and after the last one."""
    mistakes: list[Diagnostic]


def scan(source: Source) -> Scan:
    """The logical lines of a text."""
    return _Scanner(source).scan()


@define
class _Scanner:
    source: Source
    lines: list[Line] = field(factory=list)
    gaps: list[list[Comment]] = field(factory=lambda: [[]])
    found: list[Diagnostic] = field(factory=list)
    open: list[Token] = field(factory=list)
    """Brackets not yet closed."""
    resume: int | None = None
    """Where to go on reading if they never are."""

    def scan(self) -> Scan:
        index = 0
        while index < len(self.source.lines) and len(self.found) < MOST_MISTAKES:
            index = self._read_line(index)
            if index >= len(self.source.lines) and self.open:
                index = self._give_up_brackets(index)
        return Scan(self.lines, self.gaps, self.found)

    def _read_line(self, index: int) -> int:
        text = self.source.lines[index]
        body = text.lstrip(" \t")
        start = len(text) - len(body)
        if self.open and _STARTS_STATEMENT.match(body):
            restart = self._give_up_brackets(index)
            if restart != index:
                return restart
        if self.open:
            self._look_for_a_restart(index, body, start)
            return self._read_pieces(index, start)
        if not body.strip():
            self.gaps[-1].append(Comment(10**6, "", _at(index, 0)))
            return index + 1
        if body.startswith("#"):
            self.gaps[-1].append(Comment(_indent(text[:start]), body.rstrip(), _at(index, start, len(text.rstrip()))))
            return index + 1
        if self.lines and self._continues(body):
            self.lines[-1].inside += [self.lines[-1].beside] if self.lines[-1].beside else []
            self.lines[-1].beside = ""
            self.lines[-1].inside += [gap.text for gap in self.gaps[-1] if gap.text]
            self.gaps[-1].clear()
            return self._read_pieces(index, start)
        line = Line(_indent(text[:start]), [])
        self.lines.append(line)
        self.gaps.append([])
        if "\t" in text[:start] and not any(each.code == "J002" for each in self.found):  # one tab stands for all
            self._report(mistakes.tab(_at(index, text.index("\t"))), breaking=False)
        following = self._read_pieces(index, start)
        if not line.tokens:  # nothing but what could not be read
            line.tokens.append(Token("BROKEN", "", _at(index, start)))
        return following

    def _continues(self, body: str) -> bool:
        words = re.match(r"(\w+)(?:[ ]+(\w+))?", body)
        if words is None:
            return False
        first, second = words[1], words[2] or ""
        return KEYWORDS.get(first) in CONTINUING or (first, second) in CLAUSE_WORDS

    def _read_pieces(self, index: int, column: int) -> int:
        """Read the rest of a physical line; return the index of the line to go on with."""
        text, line = self.source.lines[index], self.lines[-1]
        while column < len(text):
            if text[column] == "#":
                if self.open:
                    line.inside.append(text[column:].rstrip())
                else:
                    line.beside = text[column:].rstrip()
                break
            if _TRIPLE.match(text, column):
                return self._skip_triple(index, column)
            piece = _PIECE.match(text, column)
            if piece is None:
                column = self._skip(index, column)
                continue
            column = piece.end() if piece.lastgroup == "space" else self._take(index, piece)
        return index + 1

    def _take(self, index: int, piece: re.Match[str]) -> int:
        text, span = piece[0], _at(index, piece.start(), piece.end())
        match piece.lastgroup:
            case "number":
                return self._take_number(index, piece)
            case "name":
                return self._take_name(index, piece)
            case "string":
                self._add("STRING", text, span)
                if wrong := mistakes.escape(text, span):
                    self._report(wrong)
                return piece.end()
            case _:
                return self._take_sign(index, piece)

    def _take_number(self, index: int, piece: re.Match[str]) -> int:
        text, end = piece[0], piece.end()
        rest = self.source.lines[index][end:]
        span = _at(index, piece.start(), end)
        if tail := re.match(r"\w+", rest):
            end += tail.end()
            self._report(mistakes.number(text + tail[0], _at(index, piece.start(), end)))
            text = "0"
        exponent = re.search(r"[eE][+-]?([0-9]+)$", text)
        if len(text) > MOST_DIGITS or (exponent and int(exponent[1]) > MOST_EXPONENT):
            self._report(mistakes.long_number(span, MOST_DIGITS, MOST_EXPONENT))
            text = "0"
        if not tail and rest.startswith("%"):
            end += 1
            self._add("PERCENT", text, _at(index, piece.start(), end))
        else:
            self._add("NUMBER", text, _at(index, piece.start(), end))
        return end

    def _take_name(self, index: int, piece: re.Match[str]) -> int:
        text, end = piece[0], piece.end()
        if not text.isidentifier():
            wrong = next(place for place in range(1, len(text) + 1) if not text[:place].isidentifier())
            if wrong == 1:
                return self._skip(index, piece.start())
            text, end = text[: wrong - 1], piece.start() + wrong - 1
        rest = self.source.lines[index][end:]
        if rest[:1] in {'"', "'"} and len(text) <= 2:
            self._report(mistakes.prefixed_string(text, _at(index, piece.start(), end)))
            return end
        second = re.match(r"[ ]+(\w+)", rest)
        if second and (text, second[1]) in CLAUSE_WORDS:
            end += second.end()
            self._add(CLAUSE_WORDS[text, second[1]], f"{text} {second[1]}", _at(index, piece.start(), end))
        else:
            kind = "FOREIGN" if text in FOREIGN else KEYWORDS.get(text, "NAME")
            self._add(kind, text, _at(index, piece.start(), end))
        return end

    def _take_sign(self, index: int, piece: re.Match[str]) -> int:
        sign, start, end = piece[0], piece.start(), piece.end()
        text = self.source.lines[index]
        if sign == "{" and text.startswith("{{", start):
            sign, end = "{{", start + 2
        elif sign == "}" and text.startswith("}}", start) and self.open and self.open[-1].text == "{{":
            sign, end = "}}", start + 2
        span = _at(index, start, end)
        kind = {"{{": "NOISED_OPEN", "}}": "NOISED_CLOSE"}.get(sign) or SIGNS[sign]
        if sign in _ENDS:
            token = Token(kind, sign, span)
            if not self.open:
                self.resume = None
            if len(self.open) == MOST_BRACKETS:
                self._report(mistakes.deep(span, MOST_BRACKETS))
            self.open.append(token)
            self.lines[-1].tokens.append(token)
            return end
        if sign in _ENDS.values() and not self._close(sign, span):
            return end
        self._add(kind, sign, span)
        return end

    def _close(self, sign: str, span: Span) -> bool:
        if self.open and _ENDS[self.open[-1].text] == sign:
            self.open.pop()
            return True
        if not self.open:
            self._report(mistakes.closes_nothing(sign, span))
            return False
        opener = self.open[-1]
        if (opener.text, sign) == ("{{", "}") and self._holds_several(opener):
            self._report(mistakes.set_in_a_set(opener.span))
            self.open[-1] = evolve(opener, text="{")
            return False
        self._report(mistakes.closes_wrong(sign, span, opener.text, opener.span))
        depths = [depth for depth, each in enumerate(self.open) if sign in _ENDS[each.text]]
        if depths:
            del self.open[depths[-1] :]
        return False

    def _holds_several(self, opener: Token) -> bool:
        """Whether there are commas or colons in a bracket, not counting those in brackets inside it."""
        tokens = self.lines[-1].tokens
        start = next(index for index, token in enumerate(tokens) if token is opener)
        depth = 0
        for token in tokens[start + 1 :]:
            depth += (token.text in _ENDS) - (token.text in _ENDS.values())
            if depth == 0 and token.kind in {"COMMA", "COLON"}:
                return True
        return False

    def _give_up_brackets(self, index: int) -> int:
        """Report a bracket that is never closed; return the index of the line to go on with."""
        self._report(mistakes.never_closed(self.open[-1].text, self.open[-1].span))
        self.open.clear()
        if self.resume is None:
            return index
        index, self.resume = self.resume, None
        line = self.lines[-1]
        line.tokens = [token for token in line.tokens if token.span.line <= index]
        return index

    def _look_for_a_restart(self, index: int, body: str, start: int) -> None:
        if self.resume is None and body and start <= self.lines[-1].indent and body[0] not in ")]}#":
            self.resume = index

    def _skip(self, index: int, column: int) -> int:
        text = self.source.lines[index]
        end = column + 1
        if text[column] in "\"'":
            end = len(text)
            self._report(mistakes.string_not_closed(_at(index, column, end)))
            self.open.clear()  # their ends may be inside the string
        elif text[column] == "\\" and not text[column + 1 :].strip():
            end = len(text)
            self._report(mistakes.backslash(_at(index, column)))
        else:
            while end < len(text) and text[end] == text[column]:
                end += 1
            self._report(mistakes.character(text[column], _at(index, column, end)))
        return end

    def _skip_triple(self, index: int, column: int) -> int:
        quotes = self.source.lines[index][column : column + 3]
        self._report(mistakes.triple(_at(index, column, column + 3)))
        if quotes in self.source.lines[index][column + 3 :]:
            return index + 1
        for later in range(index + 1, len(self.source.lines)):
            if quotes in self.source.lines[later]:
                return later + 1
        return index + 1

    def _add(self, kind: str, text: str, span: Span) -> None:
        self.lines[-1].tokens.append(Token(kind, text, span))

    def _report(self, mistake: Diagnostic, *, breaking: bool = True) -> None:
        self.found.append(mistake)
        if breaking:
            self.lines[-1].broken = True


def _at(index: int, start: int, end: int | None = None) -> Span:
    return Span(index + 1, start + 1, index + 1, (start + 1 if end is None else end) + 1)


def _indent(space: str) -> int:
    width = 0
    for character in space:
        width = (width // TAB + 1) * TAB if character == "\t" else width + 1
    return width
