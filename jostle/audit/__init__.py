"""The auditor: lower bounds on the privacy loss of anything that can be run.

`audit(name)` audits a registered mechanism; `register(Subject(...))` adds one. A bound above the claim, found by
enumeration or with confidence 0.999 from runs, shows that the claim is broken. A bound below it proves nothing,
but the positive controls (`CONTROLS`) show what the auditor does see.
"""

from __future__ import annotations

from jostle.audit.audited import (
    CLASSIFIERS,
    CONTROLS,
    CURVES,
    GRIDS,
    HONEST,
    PROBES,
    PUBLISHERS,
    SELECTOR_CONTROLS,
    SELECTORS,
    STATISTICS,
    TREE_CONTROLS,
    own_subject,
)
from jostle.audit.auditor import CONFIDENCE, Bound, Finding, audit, audit_all, audit_subject, privacy_loss, show_epsilon
from jostle.audit.forks import Forks, enumerated, enumerated_runs
from jostle.audit.subjects import (
    Distribution,
    Fault,
    Pair,
    Pairs,
    Relation,
    Sampler,
    Subject,
    answer_pairs,
    chosen_pairs,
    histogram_pairs,
    independent,
    key_pairs,
    laplace,
    lifted,
    names,
    register,
    subject,
)

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
    "STATISTICS",
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
