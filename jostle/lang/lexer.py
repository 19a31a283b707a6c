"""From a text to logical lines of tokens, with the blocks that they start and end, and the comments that are theirs.

A logical line is a statement, or the head of one with a block. It goes on over line ends inside brackets, and when the
next line starts with a word such as `informed by`. Nothing in a text stops the lexer: what it cannot read is reported,
the line is marked as broken, and reading goes on. (Lark's Indenter stops at the first wrong indentation, without a
place, and loading Lark and its tables would add an eighth to the time that a check takes.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, evolve, field, frozen

from jostle.errors import Diagnostic, Label, Source, Span
from jostle.lang.messages import message


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


KEYWORDS = _words(
    "from import return pass if elif else for in def class lambda spending over select MkChoiceMaker choose where"
    " groupby among or and not True False None"
)
"""Words that cannot be names."""
CLAUSE_WORDS = {"informed": "by", "trained": "on", "judged": "by"}
"""Pairs of words that are one terminal; each word alone is an ordinary name."""
CONTINUING = frozenset(_words("among spending where groupby"))
"""A line that starts with one of these, or with a pair of words, goes on with the line before it."""
FOREIGN = _words(
    "while try except finally with as global nonlocal yield async await assert del break continue is raise"
)
"""Python's words that the language does not have. They cannot be names, so that programs read like Python."""
BLOCK_WORDS = frozenset(_words("if elif else for def class while with try except finally"))
"""Words that start a line which a block belongs to, here or in Python."""
SIGNS = _words("{{ == != <= >= //= **= ^= += -= *= /= %= |= &= // ** ^ % , = : ( ) [ ] { } * < > | & + - / .")
"""`^` is the thesis's power sign."""
BRACKETS = {"(": ")", "[": "]", "{": "}", "{{": "}}"}

MOST_MISTAKES = 100
"""After so many, the rest of a text is not worth reading."""
MOST_DIGITS, MOST_EXPONENT = 60, 99
"""Longer numbers are slips, and exact arithmetic on them would take forever."""
MOST_BRACKETS, MOST_BLOCKS = 60, 40
"""Brackets in brackets, and blocks in blocks; people stop long before."""
TAB = 4

_QUOTED = r"""\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"""
_PIECE = re.compile(
    r"""(?P<space>[ ]+)
      | (?P<number>(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[^\W\d]\w*)
      | """
    rf"(?P<string>{_QUOTED})|(?P<sign>{'|'.join(map(re.escape, SIGNS))})",
    re.VERBOSE,
)
_STRING = re.compile(_QUOTED)
_FORM = re.compile(r"(?:![rsa])?:[<>^+,]?[0-9]*(?:\.[0-9]+)?[a-z%]?$|![rsa]$")
"""What says in Python how a value in a text is shown."""
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_STARTS_STATEMENT = re.compile(r"(?:def|class|return|elif|pass)\b|#\s*(?:Option|Metafeature)\s*$")
_MARK = re.compile(r"#\s*(Option|Metafeature)$")
"""A comment that says what the function under it is."""
_FAR = 10**6
_INSTEAD = {
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{NOT EQUAL TO}": "!=",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{DIVISION SIGN}": "/",
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{NO-BREAK SPACE}": "a plain space",
    "\N{UNION}": "|",
    "\N{INTERSECTION}": "&",
    "\N{ELEMENT OF}": "in",
    "\N{LOGICAL AND}": "and",
    "\N{LOGICAL OR}": "or",
    "\N{NOT SIGN}": "not",
    "@": "#Option on the line above the def",
    "!": "not, or != to compare",
    "\t": "a space",
}


@frozen
class Token:
    """A piece of text of one kind."""

    kind: str
    """The terminal of the grammar: a word or a sign itself, or NAME, NUMBER, PERCENT, STRING, FOREIGN, BROKEN.

    A text with values in it is TEXT_START, TEXT_MIDDLE between two values, TEXT_END.
    """
    text: str
    """As written."""
    span: Span
    """Where."""


@define(eq=False)
class Line:
    """A logical line: what stands on it, the blocks and the comments around it."""

    indent: int
    """How many spaces stand before it."""
    tokens: list[Token] = field(factory=list)
    before: list[Token] = field(factory=list)
    """Blocks that end or start before it."""
    after: list[Token] = field(factory=list)
    """Its end, and a block in place of one that is missing."""
    instead: list[Token] = field(factory=list)
    """What takes its place if it cannot be read."""
    above: list[str] = field(factory=list)
    """Comments and empty lines before it."""
    inside: list[str] = field(factory=list)
    """Comments in the middle of it."""
    beside: str = ""
    """The comment at its end."""
    below: list[str] = field(factory=list)
    """Comments after it and its block."""
    marks: list[str] = field(factory=list)
    """Words marked above it, `Option`."""
    broken: bool = False
    """Whether a mistake in it was reported already."""

    @property
    def start(self) -> Span:
        """The place of its first token."""
        return self.tokens[0].span

    @property
    def end(self) -> Span:
        """The place right after its last token."""
        last = self.tokens[-1].span
        return Span(last.end_line, last.end_column, last.end_line, last.end_column + 1)

    @property
    def span(self) -> Span:
        """The place of all its tokens."""
        return self.start.to(self.tokens[-1].span)


@frozen
class _Comment:
    """A comment on a line of its own, or an empty line."""

    column: int
    """How far in it stands; a large number for an empty line."""
    text: str
    span: Span


@define
class Text:
    """A text that is cut into lines as it is made."""

    source: Source
    lines: list[Line] = field(factory=list)
    mistakes: list[Diagnostic] = field(factory=list)
    lost: list[str] = field(factory=list)
    """Comments of a text without lines."""
    _gaps: list[list[_Comment]] = field(factory=lambda: [[]])
    """Comments and empty lines before each line, and after the last one."""
    _open: list[Token] = field(factory=list)
    """Brackets not yet closed."""
    _resume: int | None = None
    """Where to go on reading if they never are."""

    def __attrs_post_init__(self) -> None:
        index, rows = 0, len(self.source.lines)
        while index < rows and len(self.mistakes) < MOST_MISTAKES:
            index = self._read_line(index)
            if index >= rows and self._open:
                index = self._give_up_brackets(index)
        self._give_comments()
        self._lay_out()
        self._check_marks()

    def ends(self) -> Iterator[Token]:
        """Yield the ends of the blocks that are still open after the last line."""
        kinds = [token.kind for line in self.lines for token in (*line.before, *line.after)]
        for _ in range(kinds.count("_INDENT") - kinds.count("_DEDENT")):
            yield Token("_DEDENT", "", self.lines[-1].end)

    # Lines

    def _read_line(self, index: int) -> int:
        """Read a row of the text; return the index of the row to go on with."""
        text = self.source.lines[index]
        body = text.lstrip(" \t")
        start = len(text) - len(body)
        if self._open and _STARTS_STATEMENT.match(body):
            restart = self._give_up_brackets(index)
            if restart != index:
                return restart
        if self._open:
            if self._resume is None and body and start <= self.lines[-1].indent and body[0] not in ")]}#":
                self._resume = index
            return self._read_pieces(index, start)
        if not body.strip():
            self._gaps[-1].append(_Comment(_FAR, "", _at(index, 0)))
            return index + 1
        if body.startswith("#"):
            self._gaps[-1].append(_Comment(_indent(text[:start]), body.rstrip(), _at(index, start, len(text.rstrip()))))
            return index + 1
        if self.lines and _continues(body):
            line = self.lines[-1]
            line.inside += [each for each in (line.beside, *(gap.text for gap in self._gaps[-1])) if each]
            line.beside = ""
            self._gaps[-1].clear()
            return self._read_pieces(index, start)
        line = Line(_indent(text[:start]))
        self.lines.append(line)
        self._gaps.append([])
        if "\t" in text[:start] and all(mistake.code != "J002" for mistake in self.mistakes):  # one tab stands for all
            self._say("J002", _at(index, text.index("\t")))
        following = self._read_pieces(index, start)
        if not line.tokens:  # nothing but what could not be read
            line.tokens.append(Token("BROKEN", "", _at(index, start)))
        return following

    def _read_pieces(self, index: int, column: int) -> int:
        """Read the rest of a row; return the index of the row to go on with."""
        text, line = self.source.lines[index], self.lines[-1]
        while column < len(text):
            if text[column] == "#":
                if self._open:
                    line.inside.append(text[column:].rstrip())
                else:
                    line.beside = text[column:].rstrip()
                break
            if text.startswith(('"""', "'''"), column):
                return self._skip_triple(index, column)
            column = self._take_piece(index, column, len(text))
        return index + 1

    # Pieces: each method takes one, and returns the column to go on with

    def _take_piece(self, index: int, column: int, end: int) -> int:
        piece = _PIECE.match(self.source.lines[index], column, end)
        if piece is None:
            return self._skip(index, column)
        if piece.lastgroup == "space":
            return piece.end()
        if piece.lastgroup == "number":
            return self._take_number(index, piece)
        if piece.lastgroup == "name":
            return self._take_name(index, piece)
        return self._take_string(index, piece) if piece.lastgroup == "string" else self._take_sign(index, piece)

    def _take_string(self, index: int, piece: re.Match[str]) -> int:
        self._add("STRING", piece[0], _at(index, piece.start(), piece.end()))
        self._check_escapes(index, piece)
        return piece.end()

    def _check_escapes(self, index: int, piece: re.Match[str]) -> None:
        for found in _ESCAPE.finditer(piece[0]):
            written = found[1]
            known = written in {"n", "t", "\\", '"', "'"}
            if len(written) > 1:
                point = int(written[1:], 16)
                known = point < 0x110000 and not 0xD800 <= point < 0xE000
            if not known:
                start = piece.start() + found.start()
                self._report("J003 escape", _at(index, start, start + len(found[0])), escape=found[0], written=written)
                return

    def _take_formatted(self, index: int, start: int) -> int:
        """A text with values in it: its own pieces, and those of each value, between braces."""
        text = self.source.lines[index]
        whole = _STRING.match(text, start + 1)
        if whole is None:
            return self._skip(index, start + 1)
        self._check_escapes(index, whole)
        kind, first, column, last = "TEXT_START", start, start + 2, whole.end() - 1
        while column < last:
            if text[column] == "\\" or text[column : column + 2] in {"{{", "}}"}:
                column += 2
            elif text[column] == "{" and (end := _closing(text, column, last)) is not None:
                self._add(kind, text[first : column + 1], _at(index, first, column + 1))
                self._take_value(index, column, end)
                kind, first, column = "TEXT_MIDDLE", end, end + 1
            elif text[column] in "{}":
                self._report("J003 brace", _at(index, column), brace=text[column], twice=text[column] * 2)
                return whole.end()
            else:
                column += 1
        if kind == "TEXT_START":
            self._add("STRING", text[start : whole.end()], _at(index, start, whole.end()))
        else:
            self._add("TEXT_END", text[first : whole.end()], _at(index, first, whole.end()))
        return whole.end()

    def _take_value(self, index: int, column: int, end: int) -> None:
        """The pieces of a value in a text, from its opening brace to its closing one."""
        opener, around = Token("{", "{", _at(index, column)), self._open
        if (form := _FORM.search(self.source.lines[index], column, end)) is not None:
            self._report("J003 format", _at(index, form.start(), end))
            return
        self._open, column = [opener], column + 1
        while column < end:
            column = self._take_piece(index, column, end)
        if self._open and (left := self._open[-1]) is not opener:
            self._report("J005 open", left.span, bracket=left.text, closing=BRACKETS[left.text])
        self._open = around

    def _take_number(self, index: int, piece: re.Match[str]) -> int:
        text, end = piece[0], piece.end()
        rest = self.source.lines[index][end:]
        tail = re.match(r"\w+", rest)
        if tail:
            end += tail.end()
            self._report_number(text + tail[0], _at(index, piece.start(), end))
            text = "0"
        exponent = re.search(r"[eE][+-]?([0-9]+)$", text)
        if len(text) > MOST_DIGITS or (exponent and int(exponent[1]) > MOST_EXPONENT):
            span = _at(index, piece.start(), piece.end())
            self._report("J004 long", span, digits=MOST_DIGITS, exponent=MOST_EXPONENT)
            text = "0"
        share = not tail and rest.startswith("%")
        end += share
        self._add("PERCENT" if share else "NUMBER", text, _at(index, piece.start(), end))
        return end

    def _take_name(self, index: int, piece: re.Match[str]) -> int:
        text, start = piece[0], piece.start()
        if not text.isidentifier():
            wrong = next(place for place in range(1, len(text) + 1) if not text[:place].isidentifier())
            if wrong == 1:
                return self._skip(index, start)
            text = text[: wrong - 1]
        end = start + len(text)
        rest = self.source.lines[index][end:]
        if rest[:1] in {'"', "'"} and text == "f":
            return self._take_formatted(index, start)
        if rest[:1] in {'"', "'"} and len(text) <= 2:
            self._report("J003 prefix", _at(index, start, end), word=text)
            return end
        second = re.match(r"[ ]+(\w+)", rest)
        if second and CLAUSE_WORDS.get(text) == second[1]:
            end += second.end()
            text = f"{text} {second[1]}"
        kind = "FOREIGN" if text in FOREIGN else text if text in KEYWORDS or " " in text else "NAME"
        self._add(kind, text, _at(index, start, end))
        return end

    def _take_sign(self, index: int, piece: re.Match[str]) -> int:
        sign, start, end = piece[0], piece.start(), piece.end()
        twice = self.source.lines[index].startswith("}}", start)
        if twice and self._open and self._open[-1].text == "{{":
            sign, end = "}}", start + 2
        span = _at(index, start, end)
        if sign in BRACKETS:
            if not self._open:
                self._resume = None
            if len(self._open) == MOST_BRACKETS:
                self._report("J008 brackets", span, most=MOST_BRACKETS)
            self._open.append(Token(sign, sign, span))
            self.lines[-1].tokens.append(self._open[-1])
        elif sign not in BRACKETS.values() or self._close(sign, span):
            self._add(sign.replace("^", "**"), sign, span)
        return end

    def _close(self, sign: str, span: Span) -> bool:
        """Whether a bracket is closed by this sign; report it otherwise."""
        if not self._open:
            self._report("J005 nothing_open", span, sign=sign)
            return False
        opener = self._open[-1]
        if BRACKETS[opener.text] == sign:
            self._open.pop()
            return True
        inside = (token for token in self.lines[-1].tokens if token.span > opener.span)
        if (opener.text, sign) == ("{{", "}") and any(token.kind in {",", ":"} for token in _outermost(inside)):
            self._report("J005 several_values", opener.span)
            self._open[-1] = evolve(opener, text="{")
            return False
        others = (Label(opener.span, "opened here"),)
        closing = BRACKETS[opener.text]
        self._report("J005 other", span, others=others, sign=sign, bracket=opener.text, closing=closing)
        depths = [depth for depth, token in enumerate(self._open) if sign in BRACKETS[token.text]]
        if depths:
            del self._open[depths[-1] :]
        return False

    def _give_up_brackets(self, index: int) -> int:
        """Report a bracket that is never closed; return the index of the row to go on with."""
        opener = self._open[-1]
        self._report("J005 open", opener.span, bracket=opener.text, closing=BRACKETS[opener.text])
        self._open.clear()
        if self._resume is None:
            return index
        index, self._resume = self._resume, None
        self.lines[-1].tokens = [token for token in self.lines[-1].tokens if token.span.line <= index]
        return index

    def _skip(self, index: int, column: int) -> int:
        """Report a character that starts no piece."""
        text = self.source.lines[index]
        found, end = text[column], column + 1
        if found in "\"'":
            end = len(text)
            span = _at(index, column, end)
            self._report("J003 open", span)
            self._open.clear()  # their ends may be inside the string
            return end
        if found == "\\" and not text[end:].strip():
            self._report("J001 backslash", _at(index, column))
            return len(text)
        while end < len(text) and text[end] == found:
            end += 1
        span = _at(index, column, end)
        if found == ";":
            self._report("J001 semicolon", span)
            return end
        plain = found.isprintable() and found != "\N{NO-BREAK SPACE}"
        name = f"`{found}`" if plain else f"the character U+{ord(found):04X}"
        self._report("J001 character", span, name=name, instead=_INSTEAD.get(found))
        return end

    def _skip_triple(self, index: int, column: int) -> int:
        """Report a string in three quotes; return the index of the row to go on with."""
        quotes = self.source.lines[index][column : column + 3]
        span = _at(index, column, column + 3)
        self._report("J003 three_quotes", span)
        if quotes not in self.source.lines[index][column + 3 :]:
            for later in range(index + 1, len(self.source.lines)):
                if quotes in self.source.lines[later]:
                    return later + 1
        return index + 1

    def _report_number(self, text: str, span: Span) -> None:
        if re.match(r"0[xXoObB]", text):
            self._report("J004 base", span, number=text)
        else:
            self._report("J004 name", span, word=text)

    def _add(self, kind: str, text: str, span: Span) -> None:
        self.lines[-1].tokens.append(Token(kind, text, span))

    def _report(self, said: str, span: Span, **facts: Any) -> None:
        """Report a mistake after which the line cannot be read."""
        self._say(said, span, **facts)
        self.lines[-1].broken = True

    def _say(self, said: str, span: Span, **facts: Any) -> None:
        self.mistakes.append(message(said, span, **facts))

    # Comments

    def _give_comments(self) -> None:
        """Give each comment to the line it belongs to.

        A comment before a line that ends a block belongs to the block as far in as the comment stands.
        """
        stack: list[Line] = []
        for gap, line in zip(self._gaps, [*self.lines, None], strict=True):
            floor, level = line.indent if line else -1, _FAR
            pending: list[str] = []
            for comment in gap:
                pending.append(comment.text)
                if comment.text:
                    level = min(level, comment.column)
                    inner = next((each for each in reversed(stack) if each.indent <= level), None)
                    if inner is not None and inner.indent > floor:
                        inner.below += pending
                        pending = []
            if line is None:
                self.lost = [] if self.lines else pending
                return
            line.above = pending
            while line.tokens[0].kind == "def" and line.above and (mark := _MARK.match(line.above[-1])):
                line.above.pop()
                line.marks.insert(0, mark[1])
            while stack and stack[-1].indent >= line.indent:
                stack.pop()
            stack.append(line)

    def _check_marks(self) -> None:
        """Report marks such as `#Option` that do not stand right above a function."""
        found = [(text, line.start) for line in self.lines for text in (*line.inside, line.beside)]
        for gap, marks in zip(self._gaps, [*(len(line.marks) for line in self.lines), 0], strict=True):
            found += [(comment.text, comment.span) for comment in gap[: len(gap) - marks]]
        for text, span in found:
            if mark := _MARK.match(text):
                kind = "an Option" if mark[1] == "Option" else "a metafeature"
                self._say("J010", span, mark=mark[1], kind=kind)

    # Blocks

    def _lay_out(self) -> None:
        """Mark the blocks that lines start and end."""
        levels = [(0, True)]  # indentations around the line, and whether each is a block or a slip
        opened = False
        previous: Line | None = None
        for line, following in zip(self.lines, [*self.lines[1:], None], strict=False):
            place, word = line.start, line.tokens[0].text
            line.before = [Token(kind, "", place) for kind in self._settle(line, previous, levels, opened=opened)]
            deeper = following is not None and following.indent > line.indent
            last = line.tokens[-1].kind
            if (
                last != ":"
                and deeper
                and word in BLOCK_WORDS
                and all(token.kind != ":" for token in _outermost(line.tokens))
            ):
                if line.tokens[0].kind != "FOREIGN" and not line.broken:
                    self._say("J006 colon", line.end, word=word)
                line.tokens.append(Token(":", ":", line.end))
            colon = line.tokens[-1] if line.tokens[-1].kind == ":" else None
            opened = colon is not None and deeper
            end = Token("_NEWLINE", "", line.end)
            broken = Token("BROKEN", " ".join(token.text for token in line.tokens if token.kind == "NAME"), line.span)
            after = [end]
            if colon and not deeper:
                after += [Token("_INDENT", "", place), broken, end, Token("_DEDENT", "", place)]
                if word in BLOCK_WORDS and not line.broken:
                    self._say("J006 empty", place, word=word)
            line.after = after if word in BLOCK_WORDS else [end]
            line.instead = [broken, *([colon] if colon else []), *after]
            previous = line

    def _settle(self, line: Line, previous: Line | None, levels: list[tuple[int, bool]], *, opened: bool) -> list[str]:
        """The blocks that open or close until the level is the line's."""
        if opened:
            levels.append((line.indent, True))
            if sum(real for _, real in levels) == MOST_BLOCKS:
                self._say("J008 blocks", line.start, most=MOST_BLOCKS)
            return ["_INDENT"]
        known = [level for level, _ in levels]
        level = line.indent
        if level < known[-1] and level not in known:  # between two levels: it stays in the inner block
            lower = max(each for each in known if each < line.indent)
            level = min(each for each in known if each > line.indent)
            self._say("J006 between", line.start, indent=line.indent, lower=lower, level=level)
        ends = []
        while len(levels) > 1 and level < levels[-1][0]:
            if levels.pop()[1]:
                ends.append("_DEDENT")
        if level > levels[-1][0]:
            if previous is None or not previous.broken:
                alone = previous is not None and previous.start.line == previous.tokens[-1].span.line
                others = (Label(previous.span, "no block belongs to this"),) if previous is not None and alone else ()
                self._say("J006 deeper", line.start, others=others, indent=line.indent, level=levels[-1][0])
            levels.append((level, False))
        return ends


def _closing(text: str, column: int, last: int) -> int | None:
    """The place of the brace that closes another one, before the end of a text; None if none does."""
    depth = 0
    for place in range(column, last):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    return None


def _continues(body: str) -> bool:
    """Whether a row goes on with the line before it."""
    words = re.match(r"(\w+)(?:[ ]+(\w+))?", body)
    return words is not None and (words[1] in CONTINUING or CLAUSE_WORDS.get(words[1], "") == words[2])


def _outermost(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens that are in no bracket."""
    depth = 0
    for token in tokens:
        depth += (token.text in BRACKETS) - (token.text in BRACKETS.values())
        if depth == 0:
            yield token


def _at(index: int, start: int, end: int | None = None) -> Span:
    return Span(index + 1, start + 1, index + 1, (start + 1 if end is None else end) + 1)


def _indent(space: str) -> int:
    width = 0
    for character in space:
        width = (width // TAB + 1) * TAB if character == "\t" else width + 1
    return width
