"""Fit MST or AIM of smartnoise-synth to rows of codes; runs in an environment of its own.

    PYTHON benchmarks/publishing_smartnoise.py mst|aim CODES.npz OUT.npz

where PYTHON has smartnoise-synth (1.0.8 was measured, with mbi 1.1.0; torch and opacus, which its other synthesizers
want, are not needed). CODES.npz holds `codes`, rows by columns of whole numbers. OUT.npz gets as many rows, and how
long it took.

Rows are drawn from the fitted model one by one, and not as smartnoise-synth asks for: what mbi 1.1.0 rounds its rows to
has dependences between columns that the model does not have (https://github.com/ryan112358/mbi/pull/145), and no later
version is taken by smartnoise-synth. A column hangs on all that are with it in a clique of the junction tree.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from mbi import MarkovRandomField, junction_tree
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer

EPSILON, DELTA = 1.0, 1e-6


class Drawn:
    """A fitted model whose rows are drawn one by one."""

    def __init__(self, fitted: Any) -> None:
        """Of what was fitted, over the cliques of its junction tree."""
        tree, _ = junction_tree.make_junction_tree(fitted.domain, [set(each) for each in fitted.cliques])
        whole = fitted.potentials.expand(list(tree.nodes))
        self.model = MarkovRandomField(potentials=whole, marginals=fitted.marginals, total=fitted.total)

    def synthetic_data(self, rows: int) -> Any:
        """Rows."""
        return self.model.synthetic_data(rows, method="sample")


def main() -> None:
    """Write synthetic rows."""
    warnings.simplefilter("ignore")
    name, given, out = sys.argv[1:]
    codes = np.load(given)["codes"]
    columns = [f"c{place}" for place in range(codes.shape[1])]
    frame = pd.DataFrame(codes.astype(int), columns=columns)
    start, used = time.perf_counter(), time.process_time()
    made = {"mst": MSTSynthesizer, "aim": AIMSynthesizer}[name](epsilon=EPSILON, delta=DELTA)
    made.fit(frame, categorical_columns=columns, preprocessor_eps=0.0)
    made.synthesizer = Drawn(made.synthesizer)
    rows = made.sample(len(frame))
    taken = time.perf_counter() - start, time.process_time() - used
    np.savez(out, codes=rows[columns].to_numpy().astype(np.int64), seconds=taken)


if __name__ == "__main__":
    main()
