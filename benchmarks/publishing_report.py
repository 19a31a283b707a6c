"""The page of what `benchmarks/publishing.py` measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from publishing_figures import BINARY, SWEPT, TABLES, areas, estimated

__all__ = ["page"]

Facts = Mapping[str, Mapping[str, Any]]

EPSILONS = (0.05, 0.1, 0.25, 0.5, 0.75, 1)
PUBLISHERS = ("PrivPfC", "PrivBayes", "ProjectedHistogram", "DiffGen")
SEERS = (
    "SuLQID3",
    "Mohammed",
    "PooledTree",
    "NaiveBayes",
    "FunctionalLogistic",
    "PLR",
    "PrivateERM",
    "PrivGene",
    "Majority",
)
TITLES = {
    "adult": "Adult, 45,222 rows",
    "bank_additional_full": "Bank, 41,188 rows",
    "acs_national_income": "American Community Survey 2019, income above 50,000 dollars, 19,770 rows",
    "acs_ma_tenure": "American Community Survey 2019, Massachusetts, whether a home is owned, 7,634 rows of 3 classes",
}
KINDS = {"tree": "tree", "svm": "SVM"}
THEIRS = {"mst": "MST", "aim": "AIM"}
COMMONEST = "commonest"
MOSTLY = 0.9
"""In so many of all cases a claim is called confirmed."""
NEAR = 0.02
"""Areas that differ by less than this are called near."""
WAYS_EPSILONS = (0.1, 1)
CHOSEN = ("simulated", "partition", "as if public")
BESIDE = ("simulated", "partition", "k=2")
GIVEN = ("k=1", "k=2", "k=3", "k=4")
WAYS_SAID = {
    "simulated": "estimated from simulated rows (the default)",
    "partition": "by partition-and-select",
    "as if public": "by `mda` of the private rows themselves, for nothing",
}
WAYS = """## How many columns to project on

How often the default tree is wrong that learns from `ProjectedHistogram`'s rows, by how k is chosen. These are means
over 3 random 70/30 splits of each of these tables: {tables}.
What `mda` takes of the private rows themselves is what partition-and-select looks for. That is told here for nothing,
and so is the best k of each table, which no way to choose can be ahead of. `choose_k=partition` pays for what it finds.
"""
WAYS_END = """One k for all tables, if it is the best of the four ({said}), is {verdict}. A tree needs fewer
columns than the estimate takes: with one behind, give k.
"""
WAYS_AHEAD = """ahead of each table's own by `mda`, and near to the best of each table. To look for
either privately, in a part of the rows and with a part of epsilon, has little to gain and costs both"""
WAYS_LEVEL = """not ahead of each table's own by `mda`: to look for that privately may pay where it is found"""
UNSEEN = """On the {count} *learn* tables that have a label, on which nothing of this was set, 3 splits each. Behind
each mean, how many times as often a tree is wrong as with the simulated rows' k, the geometric mean over tables.
"""
UNSEEN_END = """There a tree is wrong {times} times as often by partition-and-select as with k = 2.
It is ahead of the simulated rows' k on {ahead} of the {count} tables.
"""
HEAD = """# Publishing rows for classification

What `benchmarks/publishing.py` measured on public tables. Noise comes from seeds here, and from the operating system
on private ones. Every figure is of rows held out. What is published, and every choice on the way, costs the epsilon
that stands above it, under `add_remove`, the number of rows included. `docs/privacy.md` says why.

Every table on this page is a *tune* one (`jostle/corpora/roles.json`). The constants inside the Options were set on
these and others. So tables that nobody has tried may do worse. *Choosing among publishers* is learned and judged on
*learn* tables. Ways to choose k are held against each other there as well. No table that was set aside to judge by was
read for this page.

## The task of the slides: a classifier on published rows

Li and others (slides on PrivPfC; Su, Cao, Li, Lyu, VLDB Journal 2018) compare what is wrong with a decision tree and an
SVM trained on published rows. Of their four tables Adult and Bank are to be had. The extracts of the US and Brazilian
censuses are not, and two of the American Community Survey (2019, by way of NIST) stand in for them. Figures are
shares of wrong predictions, means over random 70/30 splits. ProjectedHistogram with a tree or an SVM is what they
call PPH. Trees, naive Bayes and logistic regression see the private rows themselves, within the same epsilon, and
publish a model and no rows.
"""
AHEAD = """The slides' claim, that PrivPfC is ahead of PPH and PrivBayes and near to what needs no privacy: {verdict}.
On Adult, with a tree, it is wrong about {tenth:.3f} at epsilon = 0.1 and {one:.3f} at epsilon = 1. Of {cells} pairs of
table and epsilon it is ahead of all other publishers in {ahead}, and of every Option that sees the rows in {seers}.
"""
AGAIN = """## Vinterbo's figures again

Vinterbo (ECML PKDD 2012) trains logistic regressions on rows (OLR, OMLR) and on projected histograms (HLR, HMLR). It
compares the area under the curve, of several classes the mean over pairs (Hand and Till), in ten-fold stratified
cross-validation. Here are medians over folds, with quartiles. Folds gone through: {folds}.
The paper's fourth table, Infarct, is not public. PLR, and PMLR of several classes, are `PLR`: the last step of a
descent is perturbed where the paper perturbs the objective ([why](../options/classification.md)). Naive Bayes stands
beside them.
`jostle reproduce vinterbo-1` and `vinterbo-2` draw these figures offline, of the tables that packages bring and by
default of fewer folds. Ada, 48 features made of Adult's, stands in for it unless `--data` has it.

![Areas under the curve over folds](publishing_1.png)
"""
CLAIMS = """![Median areas by epsilon, k and gamma. A dot where the estimate is](publishing_2.png)

What the paper says of it, where areas that differ by less than {near} count as level:

- *Of several classes, published rows do better than private regressions that share the budget (HMLR and PMLR):* {many}.
- *Of two classes, a private regression does better (PLR and HLR):* {two}. Naive Bayes, which the paper has not, is
  ahead of published rows on {beaten}: where a model is enough, publishing rows costs something.
- *The estimated gamma is near the best:* the best of the five tried is ahead of it by {gaps}: {gamma}.

k = 4 is good in general, it says, and not always best: {k4}.

*Choosing k.* The paper has three ways. On rows simulated as it says, which is what `ProjectedHistogram` does, k is
{simulated}. By `mda` on public rows like the private ones, it would be at best what `mda` takes of the tables
themselves, as if these were public: {public}. The third way,
partition-and-select, spends rows and budget on coming near to that, through noise. {third}
"""
CHOOSING = """## Choosing among publishers

Mean regret beside the best of the three, read off another trial, on {cells} cells of 24 *learn* tables (see
[choosing](../choosing.md)), groups of tables left out in turn. Losses are the share of wrong predictions of the
default tree. Nothing beats running `PrivPfC` always, so that is what `pretrained("publishing")` and
`programs/publish.jst` do.
"""
PEERS = """## Beside MST and AIM

`benchmarks/publishing_peers.py`, one 70/30 split, all rows of each table. Shown are the share that the default tree
predicts wrongly when it learns from rows published at epsilon = 1, and seconds of processor time of one fit. Behind
each figure, how many times PrivPfC's it is. MST and AIM are smartnoise-synth 1.0.8's, in an environment of their own,
at epsilon = 1 and delta = 1e-6, where Jostle's claim has no delta. They get the same rows as the same codes, and read
off these which values there are, which they do not pay for. They publish all columns, where PrivPfC publishes those
that tell the label. Their rows are drawn from the fitted model one by one. Those that mbi 1.1.0 rounds, which
smartnoise-synth asks for, have dependences that no model has ([known](https://github.com/ryan112358/mbi/pull/145), and
mended in no version that it takes), and a tree learned from them is mostly wrong more often than the commonest label. A
fit was stopped after 12 minutes of processor time or 24 by the clock, on a machine with much other work.
"""
PEERS_SAY = """Without delta, PrivPfC is ahead of {beaten} of the {fits} fits of MST and AIM that ended, and takes from
{least} to {most} of their time.{worse}
"""
LEFT_OUT = """## What is not here

{missing}- *Objective perturbation* (PLR, PMLR and PrivateERM as their papers have them): see
  [classification](../options/classification.md) for what their claim lacks. `PLR` and `PrivateERM` perturb the last
  step of a descent in whole numbers.
- *PrivGene* (Zhang and others, SIGMOD 2013) with its enhanced exponential mechanism: `PrivGene` picks by how many rows
  a rule gets right, whose bound is 1. The slides tell neither coefficients nor losses.
- *Choosing k by partition-and-select as printed*: with u a share of pairs, exp(epsilon u) is not epsilon-private. One
  row can move two sets' shares nearly 2 apart. Made private, exp(epsilon u / 2) takes the best of all k at most
  exp(epsilon / 2) times as often as the worst: 1.65 times for all of epsilon = 1, 1.05 times for a tenth of it. That is
  a draw by lot. So `choose_k=partition` goes by pairs per row, less a tenth of the label's pairs for each column
  (`jostle/privacy/column_scores.py`): such gaps grow with the rows.
"""


def page(known: Facts) -> str:
    """Return the page."""
    parts = [
        HEAD,
        *_slides(known),
        *_vinterbo(known),
        *_ways(known),
        *_choosing(known),
        *_peers(known),
        *_speed(known),
        _left_out(known),
    ]
    return "\n".join(parts)


def _found(known: Facts, start: str, of: str) -> list[float]:
    return [float(facts[of]) for key, facts in known.items() if key.startswith(start) and of in facts]


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    return [_row(head), _row("---" for _ in head), *map(_row, rows), ""]


def _slides(known: Facts) -> Iterable[str]:
    ahead, seers, cells = 0, 0, 0
    for name, title in TITLES.items():
        trials = len(_found(known, f"slides {name} noise-free", "tree"))
        if not trials:
            continue
        yield f"### {title}\n\nMeans over {trials} split{'s' * (trials > 1)}.\n"
        rows: list[list[object]] = []
        means: dict[str, list[float]] = {}
        for option in (*PUBLISHERS, *SEERS):
            for kind, said in KINDS.items():
                found = [_found(known, f"slides {name} {option} {epsilon} ", kind) for epsilon in EPSILONS]
                if all(found):
                    label = f"{option}, {said}" if option in PUBLISHERS else option
                    means[label] = [float(np.mean(each)) for each in found]
                    fewer = f" (of {len(found[0])})" if len(found[0]) < trials else ""
                    rows.append([label + fewer, *(f"{each:.3f}" for each in means[label])])
        for kind, said in KINDS.items():
            free = float(np.mean(_found(known, f"slides {name} noise-free", kind)))
            rows.append([f"no privacy, {said}", *[f"{free:.3f}"] * len(EPSILONS)])
        yield from _table(["epsilon", *EPSILONS], rows)
        for place in range(len(EPSILONS)):
            own = means["PrivPfC, tree"][place]
            cells += 1
            ahead += all(own < means[f"{other}, tree"][place] for other in PUBLISHERS[1:] if f"{other}, tree" in means)
            seers += all(own < means[other][place] for other in SEERS if other in means)
    tenth, one = (float(np.mean(_found(known, f"slides adult PrivPfC {each} ", "tree"))) for each in (0.1, 1))
    verdict = "confirmed" if ahead >= MOSTLY * cells else "half right" if 2 * ahead >= cells else "not confirmed"
    yield AHEAD.format(verdict=verdict, tenth=tenth, one=one, cells=cells, ahead=ahead, seers=seers)


def _quartiles(values: Sequence[float]) -> str:
    low, middle, high = np.percentile(values, (25, 50, 75))
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def _vinterbo(known: Facts) -> Iterable[str]:
    folds = {name: len(areas(known, name, " OLR")) for name in TABLES}
    done = [name for name in TABLES if folds[name]]
    yield AGAIN.format(folds=", ".join(f"{folds[name]} of {name}" for name in done))
    rows = [
        [name, *(_quartiles(areas(known, name, end)) for end in (" OLR", " PLR", " epsilon=1", " NaiveBayes"))]
        for name in done
    ]
    yield from _table(["epsilon = 1", "O(M)LR", "PLR, PMLR", "H(M)LR", "naive Bayes, private"], rows)
    for swept, values in SWEPT.items():
        rows = []
        for name in done:
            found = [areas(known, name, f" {swept}={value}") for value in values]
            rows.append([name, *(f"{np.median(each):.3f}" if each else "" for each in found)])
            if swept != "epsilon":
                rows[-1].append(
                    f"{np.median(areas(known, name, ' epsilon=1')):.3f} at {estimated(known, name, swept):.3g}"
                )
        others = "the other two" if swept == "epsilon" else "at epsilon = 1, the other"
        yield f"Median area by {swept}, {others} as estimated.\n"
        yield from _table([swept, *values, *([] if swept == "epsilon" else ["as estimated"])], rows)
    yield _claims(known, done)


def _ways(known: Facts) -> Iterable[str]:
    """Yield how wrong the default tree is by how k is chosen."""
    names = list(dict.fromkeys(key.split(" ")[1] for key in known if key.startswith("ways ")))
    if not names:
        return
    found = {
        (way, name, epsilon): float(np.mean(_found(known, f"ways {name} {way} {epsilon} ", "tree")))
        for way in (*CHOSEN, *GIVEN)
        for name in names
        for epsilon in WAYS_EPSILONS
    }
    means = {
        (way, epsilon): float(np.mean([found[way, name, epsilon] for name in names]))
        for way in (*CHOSEN, *GIVEN)
        for epsilon in WAYS_EPSILONS
    }
    hindsight = [np.mean([min(found[way, name, each] for way in GIVEN) for name in names]) for each in WAYS_EPSILONS]
    best = {each: min(GIVEN, key=lambda way: means[way, each]) for each in WAYS_EPSILONS}
    said = ", ".join(f"{best[each][2:]} at epsilon = {each:g}" for each in WAYS_EPSILONS)
    yield WAYS.format(tables=", ".join(names))
    rows = [
        [WAYS_SAID.get(way, f"always {way}"), *(f"{means[way, each]:.3f}" for each in WAYS_EPSILONS)]
        for way in (*CHOSEN, *GIVEN)
    ]
    rows.append(["the best of these four on each table, in hindsight", *(f"{each:.3f}" for each in hindsight)])
    yield from _table(["mean share of wrong predictions, epsilon", *WAYS_EPSILONS], rows)
    ahead = all(means[best[each], each] < means["as if public", each] for each in WAYS_EPSILONS)
    yield WAYS_END.format(said=said, verdict=WAYS_AHEAD if ahead else WAYS_LEVEL)
    yield from _unseen(known)


def _unseen(known: Facts) -> Iterable[str]:
    """Yield the same of tables on which nothing was set, as ratios."""
    names = list(dict.fromkeys(key.split(" ")[1] for key in known if key.startswith("unseen ")))
    if not names:
        return
    found = {
        (way, epsilon): np.array([np.mean(_found(known, f"unseen {name} {way} {epsilon} ", "tree")) for name in names])
        for way in BESIDE
        for epsilon in WAYS_EPSILONS
    }

    def times(way: str, other: str, epsilon: float) -> float:
        return float(np.exp(np.mean(np.log(found[way, epsilon] / found[other, epsilon]))))

    def both(said: Iterable[str]) -> str:
        return " and ".join(f"{each} (epsilon = {of:g})" for each, of in zip(said, WAYS_EPSILONS, strict=True))

    yield UNSEEN.format(count=len(names))
    rows = [
        [
            WAYS_SAID.get(way, f"always {way}"),
            *(f"{found[way, each].mean():.3f} ({times(way, 'simulated', each):.2f}×)" for each in WAYS_EPSILONS),  # noqa: RUF001
        ]
        for way in BESIDE
    ]
    yield from _table(["mean share of wrong predictions, epsilon", *WAYS_EPSILONS], rows)
    yield UNSEEN_END.format(
        count=len(names),
        times=both(f"{times('partition', 'k=2', each):.2f}" for each in WAYS_EPSILONS),
        ahead=both(str(int((found["partition", each] < found["simulated", each]).sum())) for each in WAYS_EPSILONS),
    )


def _claims(known: Facts, done: Sequence[str]) -> str:
    def best(name: str, swept: str) -> dict[str, float]:
        found = {value: areas(known, name, f" {swept}={value}") for value in SWEPT[swept]}
        return {value: float(np.median(each)) for value, each in found.items() if each}

    here = {name: float(np.median(areas(known, name, " epsilon=1"))) for name in done}
    models = {name: float(np.median(areas(known, name, " PLR"))) for name in done}
    gaps = {name: max(best(name, "gamma").values()) - here[name] for name in done}
    beaten = [name for name in done if here[name] < float(np.median(areas(known, name, " NaiveBayes")))]
    by_k = {name: max(best(name, "k").items(), key=lambda item: item[1]) for name in done}
    many = [name for name in done if name not in BINARY]
    two = [name for name in done if name in BINARY]

    def against(names: Sequence[str], right: Sequence[bool]) -> str:
        said = ", ".join(f"{here[name]:.3f} and {models[name]:.3f} on {name}" for name in names)
        return f"{said}: {_verdict(right)}"

    return CLAIMS.format(
        near=NEAR,
        many=against(many, [here[name] > models[name] + NEAR for name in many]),
        two=against(two, [here[name] + NEAR < models[name] for name in two]),
        gaps=", ".join(f"{gaps[name]:.3f} on {name}" for name in done),
        gamma=f"{_verdict([gaps[name] < NEAR for name in done])}",
        beaten=", ".join(beaten) or "none",
        **_ways_to_k(known, done),
        k4=", ".join(f"the best on {name} is k = {k} ({area:.3f})" for name, (k, area) in by_k.items()),
    )


def _ways_to_k(known: Facts, done: Sequence[str]) -> dict[str, str]:
    """What k the paper's ways take, and how good the published rows are with it."""

    def said(chosen: Mapping[str, int]) -> tuple[str, dict[str, float]]:
        found = {name: areas(known, name, f" k={k}") for name, k in chosen.items()}
        medians = {name: float(np.median(each)) for name, each in found.items() if each}
        return ", ".join(f"{k} on {name} ({medians[name]:.3f})" for name, k in chosen.items()), medians

    simulated, first = said({name: int(estimated(known, name, "k")) for name in done})
    public, second = said({name: int(known[f"vinterbo {name} as if public"]["k"]) for name in done})
    better = [name for name in done if second[name] > first[name] + NEAR]
    third = (
        f"That would help on {', '.join(better)}."
        if better
        else f"That is nowhere ahead of the simulated rows' k by more than {NEAR} in area; a tree's errors are below."
    )
    return {"simulated": simulated, "public": public, "third": third}


def _verdict(right: Sequence[bool]) -> str:
    return "**confirmed**" if all(right) else "**half right**" if any(right) else "**not confirmed**"


def _choosing(known: Facts) -> Iterable[str]:
    found = {key.removeprefix("choosing "): facts for key, facts in known.items() if key.startswith("choosing ")}
    if not found:
        return
    yield CHOOSING.format(cells=max(facts["cells"] for facts in found.values()))
    rows = [
        [
            way,
            *(f"{facts[of]:.3f}" for of in ("regret", "p95", "worst")),
            f"{facts['worse']:.0%}",
            f"{facts['loss']:.4f}",
        ]
        for way, facts in found.items()
    ]
    yield from _table(
        ["way", "mean regret", "95th percentile", "worst", "2% worse than the single best", "mean loss"], rows
    )


def _peers(known: Facts) -> Iterable[str]:
    found = {tuple(key.split()[1:]): facts for key, facts in known.items() if key.startswith("peers ")}
    tables = list(dict.fromkeys(table for table, _ in found))
    if not any(way in THEIRS for _, way in found):
        return
    yield PEERS
    for of, said, digits in (("error", "wrong", 3), ("seconds", "seconds", 1)):
        rows = []
        for way in (*PUBLISHERS, *THEIRS):
            cells = [found.get((table, way)) for table in tables]
            ours = [found[table, PUBLISHERS[0]][of] for table in tables]
            shown = [_beside(facts, of, own, digits) for facts, own in zip(cells, ours, strict=True)]
            rows.append([THEIRS.get(way, way), *shown])
        if of == "error":
            rows.append(["commonest label", *(f"{found[table, COMMONEST][of]:.3f}" for table in tables)])
        yield from _table([said, *tables], rows)
    ended = [(found[table, PUBLISHERS[0]], found[table, way]) for table, way in found if way in THEIRS]
    ended = [(ours, facts) for ours, facts in ended if "error" in facts]
    shares = [ours["seconds"] / facts["seconds"] for ours, facts in ended]
    stopped = len([way for _, way in found if way in THEIRS]) - len(ended)
    worse = [f"{table} by {THEIRS[way]}" for table, way in found if way in THEIRS and _ahead(found, table, way)]
    yield PEERS_SAY.format(
        beaten=len(ended) - len(worse),
        fits=len(ended),
        least=f"1/{_rounded(1 / min(shares))}",
        most=f"1/{_rounded(1 / max(shares))}",
        worse=(f" Where it is behind: {', '.join(worse)}." if worse else "")
        + (f" Of {stopped} more no rows had come when it was stopped." if stopped else ""),
    )


def _beside(facts: Mapping[str, Any] | None, of: str, own: float, digits: int) -> str:
    """A figure, and how many times ours it is."""
    if facts is None:
        return "not run"
    if "error" not in facts:
        used = f"{facts['seconds']:.0f}" if "seconds" in facts else f"{facts['wall']:.0f} by the clock"
        return "no rows" if of == "error" else f"stopped after {used}"
    return f"{facts[of]:.{digits if facts[of] >= 1 else 3}f} ({_rounded(facts[of] / own)}×)"  # noqa: RUF001


def _rounded(times: float) -> str:
    """A ratio to two digits, or hundredths."""
    return f"{round(times, 2 - len(str(int(times)))):,.0f}" if times >= 10 else f"{times:.2f}"


def _ahead(found: Mapping[tuple[str, ...], Mapping[str, Any]], table: str, way: str) -> bool:
    return bool(found[table, way].get("error", 1) <= found[table, PUBLISHERS[0]]["error"])


def _left_out(known: Facts) -> str:
    run = {key.split()[-1] for key in known if key.startswith("peers ")}
    missing = [name for way, name in THEIRS.items() if way not in run]
    said = f"- *{' and '.join(missing)}* (smartnoise-synth) were not run beside these: a fit takes minutes.\n"
    return LEFT_OUT.format(missing=said if missing else "")


def _speed(known: Facts) -> Iterable[str]:
    yield "## Seconds of processor time\n"
    rows = []
    for key, facts in known.items():
        words = key.split()
        if words[:2] == ["speed", "discernibility"]:
            what = f"k-discernibility, k = 4, {int(words[2]):,} rows of {words[3]} columns"
            rows.append([what, f"{facts['seconds']:.2f}"])
        elif words == ["speed", "pool"]:
            rows.append(["PrivPfC on Adult, 10,000 grids", f"{facts['seconds']:.1f}"])
    yield from _table(["what", "seconds"], rows)
