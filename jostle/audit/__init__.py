"""The auditor: lower bounds on the privacy loss of anything that can be run.

`audit(name)` audits a registered mechanism; `register(Subject(...))` adds one. A bound above the claim, found by
enumeration or with confidence 0.999 from runs, shows that the claim is broken. A bound below it proves nothing,
but the positive controls (`controls`) show what the auditor does see.
"""

from __future__ import annotations

from jostle.audit.distributions import Distribution, independent, laplace
from jostle.audit.pairs import (
    Pair,
    Pairs,
    Relation,
    answer_pairs,
    chosen_pairs,
    histogram_pairs,
    key_pairs,
)

# isort: split
from jostle.audit.subjects import Fault, Sampler, Subject, lifted, names, register, subject

# isort: split
from jostle.audit.exact import privacy_loss
from jostle.audit.findings import Bound, Finding, show_epsilon
from jostle.audit.forks import Forks, enumerated, enumerated_runs

# isort: split
from jostle.audit.auditor import CONFIDENCE, audit, audit_all, audit_subject
from jostle.audit.classifiers import CLASSIFIERS, TREE_CONTROLS
from jostle.audit.controls import CONTROLS
from jostle.audit.curves import CURVES
from jostle.audit.grids import GRIDS
from jostle.audit.honest import HONEST
from jostle.audit.own import own_subject
from jostle.audit.probes import PROBES
from jostle.audit.publishers import PUBLISHERS
from jostle.audit.selectors import SELECTOR_CONTROLS, SELECTORS

__all__ = [
    "CLASSIFIERS",
    "CONFIDENCE",
    "CONTROLS",
    "CURVES",
    "GRIDS",
    "HONEST",
    "PROBES",
    "PUBLISHERS",
    "SELECTORS",
    "SELECTOR_CONTROLS",
    "TREE_CONTROLS",
    "Bound",
    "Distribution",
    "Fault",
    "Finding",
    "Forks",
    "Pair",
    "Pairs",
    "Relation",
    "Sampler",
    "Subject",
    "answer_pairs",
    "audit",
    "audit_all",
    "audit_subject",
    "chosen_pairs",
    "enumerated",
    "enumerated_runs",
    "histogram_pairs",
    "independent",
    "key_pairs",
    "laplace",
    "lifted",
    "names",
    "own_subject",
    "privacy_loss",
    "register",
    "show_epsilon",
    "subject",
]
