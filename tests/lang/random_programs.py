"""Random programs that pass the check: put together from pieces that are each right."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["programs"]

COLUMNS = ("region", "age", "height", "label")
BUDGETS = ("epsilon / 4", "epsilon / 10", "0.1", "epsilon / 3", "e")
VALUES = {"region": '"north"', "age": "30", "height": "1", "label": '"yes"'}


class Piece:
    """What has been written so far, and which names there are of each kind."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0

    def name(self, kind: str) -> str:
        """Return a new name."""
        self.count += 1
        return f"{kind}{self.count}"

    def pick(self, *choices: str) -> str:
        """Return one of several."""
        return self.draw(st.sampled_from(choices))

    def table(self, tables: list[str], depth: int = 2) -> str:
        """Return an expression for a table."""
        table = self.pick(*tables)
        if depth and self.draw(st.booleans()):
            column = self.pick(*COLUMNS)
            table = f"{table}[{column} = {VALUES[column]}]"
        return table

    def private(self, tables: list[str], depth: int = 2) -> str:
        """Return an expression for a private number."""
        table = self.table(tables)
        simple = (
            f"len({table})",
            f"(select count() from {table} where age > 30)",  # noqa: S608 - a program's query, no SQL
            f"(select sum(age) from {table})",  # noqa: S608 - a program's query, no SQL
            f'(select count() from {table} where age > 30 or region == "north")',  # noqa: S608 - a program's query, no SQL
            f"max(select count() from {table} groupby region)",  # noqa: S608 - a program's query, no SQL
            f"maxScore(db.region, db.label, {table})",
        )
        if not depth:
            return self.pick(*simple)
        left, right = self.private(tables, depth - 1), self.private(tables, 0)
        return self.pick(*simple, f"({left} + {right})", f"({left} - 2 * {right})", f"abs({left})", f"half({left})")

    def purchase(self, tables: list[str]) -> str:
        """Return an expression that buys a number."""
        budget = self.pick(*BUDGETS)
        return self.pick(
            f"noisyCount({self.table(tables)}, {budget})",
            f"({{{{ {self.private(tables)} }}}} spending {self.pick('5%', '0.05', budget)})",
            f"ask({self.table(tables)}, {budget})",
            f"noisyMean({self.table(tables)}, db.age, {budget})",
            f"noisyQuantile({self.table(tables)}, db.height, 50%, {budget})",
            f"deep({self.table(tables)}, {self.pick('1', '2')}, {budget})",
        )

    def statements(self, tables: list[str], numbers: list[str], indent: str, depth: int) -> list[str]:
        """Return a few statements."""
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 3))):
            lines += self.statement(tables, numbers, indent, depth)
        return lines

    def roundabout(self, tables: list[str], numbers: list[str], *, in_block: bool) -> list[str]:
        """Return lines that buy by way of lists, dictionaries, sets and functions that stand for others."""
        table, other, budget = self.table(tables), self.table(tables), self.pick(*BUDGETS)
        name, held, number = self.name("x"), self.name("f"), self.pick(*numbers)
        north, kept, kept2 = '"north"', '["north", "east"]', " - [30]"
        column, values = self.draw(st.sampled_from((("region", "db.region"), ("age", "db.age"), ("region", kept))))
        test = f"{number} > {self.pick('0', '5')}"
        ways = (
            [
                f"{held} = {{v: v / 20 for v in [1, 2, 1]}}",
                f"{name} = noisyCount({table}, {held}[{self.pick('1', '2')}])",
            ],
            [f"{name} = map(function=lambda D: ask(D, e), items=[{table}, {other}])"],
            [f"{held} = ask if {test} else twice", f"{name} = {held}({table}, {budget})"],
            [f"{name} = [noisyCount({table}, e) for w in {{1, 1, 2}} | {{2, {self.pick('1', number)}}}]"],
            [
                f"{held} = [{table}] + [D for D in [{other}] if {test}]",
                f"{name} = [ask(D, e) for D in {held} + [{table}]]",
            ],
            [
                f"{held} = noisyMax([db.region, db.age], [len({table}), 2 * len({other})], e)",
                f"{name} = [noisyCount({table}, e) for a in [db.region, db.height] - {held}]",
            ],
            [f"{held} = {{1: ask, 2: twice}}", f"{name} = {held}[{self.pick('1', '2')}]({table}, {budget})"],
            [
                f"{held} = e",
                f"{name} = lambda D: noisyCount(D, {held})",
                f"{held} = {held} / 50",
                f"{name} = {name}({table})",
            ],
            [
                f"def {held}(D, k=1):",
                "    if k > 0:",
                f"        return {held}(D, k - 1) + noisyCount({other}, e)",
                f"    return noisyCount(D, {budget})",
                f"{name} = {held}({table})",
            ],
            [f"{held} = lambda D, k=noisyCount({other}, e): k + noisyCount(D, e)", f"{name} = {held}({table})"],
            [f"{name} = 0", f"{name} += {self.purchase(tables)}", f"{name} -= noisyCount({table}, {budget})"],
            [f'{held} = f"{{{number}}} of {{e}}"', f"{name} = noisyCount({table}, e) if {held} else {number}"],
            [f"{name} = [w(D, e) for w, D in [(ask, {table}), (twice, {other})]]"],
            [
                f"{held} = [v for v in {values} if {test}]",
                f"{held} = {held}{self.pick('', kept2)}",
                f"{name} = [noisyCount({table}[{column} = v], e) for v in {held}]",
            ],
            [
                f"{held} = {{v: noisyCount({table}[region = v], e) for v in db.region}}",
                f"{name} = {{v: ask({other}[region = v], e) for v in {held} if {held}[v] > 5}}",
            ],
            [
                f"{held} = [(v, {other}[region = v]) for v in {self.pick('db.region', kept)} if {test}]",
                f"{name} = [ask(D[region = v], e) + noisyCount({table}[region = v], e) for v, D in {held}]",
            ],
            [
                f"{held} = {{v: {table}[region = v] for v in {self.pick('db.region', kept)}}}",
                f"{name} = [noisyCount({held}[v], e) for v in {held}] + [ask({held}[{north}], e)]",
            ],
            [f"{name} = [noisyCount({table}[region = v], n / 50) for v, n in zip(db.region, [e, 2 * e, e]) if {test}]"],
            [
                f"{held} = {{{{ select count() from {table} groupby age }}}} spending e",  # noqa: S608 - a program's query, no SQL
                f"{name} = [noisyCount({other}[age = v], e) for v in {held} if {held}[v] > 5]",
            ],
        )
        no_function = [way for way in ways if not way[0].startswith("def ")]  # which stands under no block
        return self.draw(st.sampled_from(no_function if in_block else ways))

    def statement(self, tables: list[str], numbers: list[str], indent: str, depth: int) -> list[str]:  # noqa: C901, PLR0911 - one case per kind
        """Return one statement, with what is inside it."""
        kinds = ["buy", "buy", "narrow", "parts", "pick", "roundabout"] + (
            ["if", "return", "for", "rounds", "each"] if depth else []
        )
        kind = self.pick(*kinds)
        inner = indent + "    "
        if kind == "buy":
            name = self.name("n")
            line = f"{indent}{name} = {self.purchase(tables)}"
            numbers.append(name)
            return [line]
        if kind == "narrow":
            name = self.pick(*[table for table in tables if table != "db"] or [self.name("D")])
            line = f"{indent}{name} = {self.table(tables)}"
            if name not in tables:
                tables.append(name)
            return [line]
        if kind == "parts":
            column, name = self.pick(*COLUMNS), self.name("c")
            table, other = self.table(tables), self.purchase(["P", *tables])
            return [
                (
                    f"{indent}{name} = {{v: {self.pick('noisyCount', 'ask')}({table}[{column} = v], e) "
                    f"for v in db.{column}}}"
                ),
                *([f"{indent}P = {table}", f"{indent}{name} = [{other} for v in db.{column}]"] if depth else []),
            ]
        if kind == "pick":
            best, found = self.name("best"), self.name("c")
            table = self.table(tables)
            return [
                f"{indent}{best} = noisyMax(db.attributes, [maxScore(a, db.label, {table}) for a in db.attributes], e)",
                f"{indent}{found} = {{v: noisyCount({table}[{best} = v], e) for v in {best}}}",
            ]
        if kind == "roundabout":
            return [f"{indent}{line}" for line in self.roundabout(tables, numbers, in_block=len(indent) > 4)]
        test = f"{self.pick(*numbers)} > {self.pick('0', '5')}"
        if kind == "if":
            otherwise = [f"{indent}else:", *self.statements(list(tables), list(numbers), inner, depth - 1)]
            body = self.statements(list(tables), list(numbers), inner, depth - 1)
            return [f"{indent}if {test}:", *body, *(otherwise if self.draw(st.booleans()) else [])]
        if kind == "return":
            return [f"{indent}if {test}:", f"{inner}return {self.purchase(tables)}"]
        if kind == "for":
            column, variable, own = self.pick(*COLUMNS), self.name("v"), self.name("D")
            head = [
                f"{indent}for {variable} in db.{column}:",
                f"{inner}{own} = {self.pick(*tables)}[{column} = {variable}]",
            ]
            return [*head, *self.statements([own, *tables], list(numbers), inner, depth - 1)]
        if kind == "rounds":
            name = self.pick(*tables)
            again = [] if name == "db" else [f"{inner}{name} = {self.table(tables)}"]
            body = self.statements(list(tables), list(numbers), inner, depth - 1)
            return [f"{indent}for {self.name('i')} in range(2):", *body, *again]
        listed, variable = self.name("parts"), self.name("D")
        return [
            f"{indent}{listed} = [{self.table(tables)}[region = v] for v in db.region]",
            f"{indent}for {variable} in {listed}:",
            *self.statements([variable, *tables], list(numbers), inner, depth - 1),
        ]


HELPERS = """def half(x):
    return x / 2

def ask(D, e):
    n = noisyCount(D, e / 2)
    if n > 3:
        return n
    return n + noisyCount(D, e / 2)

def twice(D, e):
    return noisyCount(D, e) + noisyCount(D, e)

def deep(D, d, e):
    n = noisyCount(D, e / 4)
    if d == 0 or n > 50:
        return n
    return sum([deep(D[region = v], d - 1, e) for v in D.region])
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Return a program with a function `answer` of a database."""
    piece = Piece(draw)
    tables, numbers = ["db"], ["n0"]
    lines = ["    e = epsilon / 20", "    n0 = noisyCount(db, e)"]
    lines += piece.statements(tables, numbers, "    ", 2)
    lines.append(f"    return {piece.pick(*numbers)}")
    return f"{HELPERS}\ndef answer(db):\n" + "\n".join(lines) + "\n"
