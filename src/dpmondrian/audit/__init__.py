"""Audits: instruments that try to show that a promise is not kept, for any estimator that draws through a `Door`.

===========================  ====================================================================================
`audit_replay`               the same released values on a neighbouring table: what still differs?
`audit_pairs`                the same for many pairs
`exact_law`                  the exact probabilities of every private choice of a run, on both tables
`worst_small_table`          the same for all small tables there are
`adversarial_pairs`          neighbouring tables from a schema, made to break promises
`search_worst_pair`          a search for the pair that uses most of a price
===========================  ====================================================================================

Findings hold exact values: audit with invented rows.
"""

from dpmondrian.audit.exact_law import LawChange, exact_law, log_law, selection_laws, worst_small_table
from dpmondrian.audit.findings import Finding, Findings
from dpmondrian.audit.neighbours import Pair, WorstPair, adversarial_pairs, alternating_gaps, search_worst_pair
from dpmondrian.audit.replay import audit_pairs, audit_replay, compare_runs

__all__ = [
    "Finding",
    "Findings",
    "LawChange",
    "Pair",
    "WorstPair",
    "adversarial_pairs",
    "alternating_gaps",
    "audit_pairs",
    "audit_replay",
    "compare_runs",
    "exact_law",
    "log_law",
    "search_worst_pair",
    "selection_laws",
    "worst_small_table",
]
