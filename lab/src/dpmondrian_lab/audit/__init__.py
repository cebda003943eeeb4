"""Audits: instruments that try to show that a promise is not kept, for any estimator that draws through a `Door`.

===========================  ====================================================================================
`audit_replay`               the same released values on a neighbouring table: what still differs?
`audit_pairs`                the same for many pairs
`exact_law`                  the exact probabilities of every private choice of a run, on both tables
`worst_small_table`          the same for all small tables there are
`adversarial_pairs`          neighbouring tables from a schema, made to break promises
`search_worst_pair`          a search for the pair that uses most of a price
`attained`                   a tight lower bound: what a plan's worst-case client attains of what is claimed
`simulated`                  the same from what the sampler draws, with confidence
`attained_on_tables`         the same for an estimator's runs on two neighbouring tables
===========================  ====================================================================================

Findings hold exact values: audit with invented rows.
"""

from dpmondrian_lab.audit.exact_law import LawChange, exact_law, log_law, selection_laws, worst_small_table
from dpmondrian_lab.audit.findings import Finding, Findings
from dpmondrian_lab.audit.neighbours import Pair, WorstPair, adversarial_pairs, alternating_gaps, search_worst_pair
from dpmondrian_lab.audit.replay import audit_pairs, audit_replay, compare_runs
from dpmondrian_lab.audit.tight import Attained, Simulated, attained, simulated
from dpmondrian_lab.audit.transcripts import AttainedOnTables, attained_on_tables

__all__ = [
    "Attained",
    "AttainedOnTables",
    "Finding",
    "Findings",
    "LawChange",
    "Pair",
    "Simulated",
    "WorstPair",
    "adversarial_pairs",
    "alternating_gaps",
    "attained",
    "attained_on_tables",
    "audit_pairs",
    "audit_replay",
    "compare_runs",
    "exact_law",
    "log_law",
    "search_worst_pair",
    "selection_laws",
    "simulated",
    "worst_small_table",
]
