"""Fit MST or AIM of smartnoise-synth to rows of codes; runs in an environment of its own.

    PYTHON benchmarks/publishing_smartnoise.py mst|aim CODES.npz OUT.npz

where PYTHON has smartnoise-synth (1.0.8 was measured; torch and opacus, which its other synthesizers want, are not
needed). CODES.npz holds `codes`, rows by columns of whole numbers. OUT.npz gets as many rows, and how long it took.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer

EPSILON, DELTA = 1.0, 1e-6


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
    rows = made.sample(len(frame))
    taken = time.perf_counter() - start, time.process_time() - used
    np.savez(out, codes=rows[columns].to_numpy().astype(np.int64), seconds=taken)


if __name__ == "__main__":
    main()
