"""English: the words for everything that is shown of a release, a statement or a forecast.

A text may have fields, filled in as by `str.format`. Texts of the topics "report" and "notebook" that hold elements of HTML are
asked for with `Words.html`. Facts that come as keys (draws, mechanisms, units, ...) have their key at the end of the name.
"""

from __future__ import annotations

from dpmondrian.show.words.catalogue import Text, Words, plural

__all__ = ["ENGLISH"]

_FACTS: dict[str, Text] = {
    # Whose privacy is protected
    "unit.row": "one row",
    "unit.assumed_rows": "one person with up to {n} rows",
    "unit.person_id": "one person, identified by column {column}",
    "unit.row.short": "one row",
    "unit.person.short": "one person",
    "unit.row.note": "; this means one person if nobody has more than one row",
    # Which tables nobody can tell apart
    "neighbours.add_or_remove": "one results from the other by adding or removing {rows}",
    "neighbours.row": "one row",
    "neighbours.assumed_rows": "all rows of one person, at most {n}; every sensitivity below is multiplied by {n}",
    "neighbours.person_id": plural(
        "all rows of one person, of which one was kept, chosen at random",
        "all rows of one person, of which at most {n} were kept, chosen at random; every sensitivity below is multiplied by {n}",
    ),
    "randomness.secure": "from the operating system and OpenDP, cryptographically secure",
    "randomness.seeded": "from a seed: reproducible, not private",
    "not_protected.public_inputs": (
        "the bounds, column names and parameters: they are public inputs and are published with the result"
    ),
    "not_protected.outputs_of_rows": (
        "labels of rows, and the output of predict and transform: they are computed from individual rows and must not be published"
    ),
    "not_protected.side_channels": "running time, memory and other side channels",
    "not_protected.several_releases": "several releases from the same rows: their epsilons and deltas add up",
    "not_protected.groups": (
        "facts about groups larger than the unit of privacy: showing these is the purpose of the release"
    ),
    # What sizes are numbers of
    "counted.rows": "rows",
    "counted.people": "people",
    "counted.rows.head": "Rows",
    "counted.people.head": "People",
    # Draws: their names, what they are for, their mechanisms, what they are measured in
    "draw.count": "count",
    "draw.split": "split",
    "draw.bridge": "bridge",
    "draw.level": "level",
    "draw.coarse sums": "coarse sums",
    "draw.radius": "radius",
    "draw.category sums": "category sums",
    "draw.clipped sums": "clipped sums",
    "draw.cell count": "cell count",
    "draw.interval size": "interval size",
    "draw.sums": "sums",
    "use.count": "The number of rows, in total and on both sides of every cut.",
    "use.split": "Where to cut: selects one column and one position in each part of the table.",
    "use.bridge": "The number of rows between two neighbouring parts, to decide which parts belong to one cluster.",
    "use.level": "Selects one of the few remaining ways to group the parts.",
    "use.coarse sums": "A first, rough centre of every part.",
    "use.radius": "The distance from the centre up to which rows count in full in the next step.",
    "use.category sums": "The number of rows of each category in every cluster.",
    "use.clipped sums": "Refined centres: rows far from the current centre are clipped to the radius.",
    "use.cell count": "The number of rows nearest to each centre.",
    "use.interval size": "The resolution of the grid of possible cuts.",
    "use.sums": "The centre of every cluster.",
    "use.unknown": "A step of the algorithm that this report cannot describe; its cost is included like all others.",
    "mechanism.discrete Gaussian": "discrete Gaussian",
    "mechanism.discrete Laplace": "discrete Laplace",
    "mechanism.permute-and-flip": "permute-and-flip",
    "mechanism.exponential mechanism": "exponential mechanism",
    "draw_unit.rows": "rows",
    "draw_unit.score steps": "score steps",
    "draw_unit.silhouette steps": "silhouette steps",
    "draw_unit.gap ranks / 100": "gap ranks / 100",
    "draw_unit.half-widths of the box": "half-widths of the box",
    "draw_unit.radii": "radii",
    "draw_unit.not drawn": "not drawn",
    "cost": "cost ({currency})",
    "cost.joint": "cost (epsilon; mu for Gaussian noise)",
    # Columns
    "column.numbers": "numbers",
    "column.whole": "whole numbers",
    "column.log": "numbers on a log scale",
    "column.categories": "categories",
    "column.categories_cut": "categories, can be cut",
    "column.bounds": "{lower} to {upper}",
    "column.log_scale": "log scale",
    "column.share": "share",
    "column.shares": "shares",
    "column.share_of": "share of {name}",
    "and_more": "{listed} and {n:,} more",
    "others": "{n:,} others",
    "number_of": "number of {counted}",
    # Rules of the tree; {at_most} is the sign, "<=" or "≤"
    "rule.between": "{low} < {column} {at_most} {high}",
    "rule.at_most": "{column} {at_most} {high}",
    "rule.more_than": "{column} > {low}",
    "rule.is": "{column} is {category}",
    "rule.is_not": "{column} is not {category}",
    "rule.and": " and ",
    "rule.everyone": "everyone",
    "rule.size": "about {size} {counted}",
    "rule": "{condition}: {size}",
    "rule.of_cluster": "cluster {cluster}: {rule}",
}

_STATEMENT: dict[str, Text] = {
    "statement.not_releasable": (
        "NOT RELEASABLE: the noise was drawn with a seed and can be reproduced. For research only."
    ),
    "statement.promise": "Differential privacy with {promise}.",
    "statement.unit": "Unit of privacy: {unit}.",
    "statement.neighbours": "Neighbouring tables: {neighbours}.",
    "statement.meaning": (
        "Anything an observer of the release can conclude about one unit, they would have concluded with nearly the same probability if "
        "its rows had not been in the table: the probabilities differ by a factor of at most exp({epsilon})."
    ),
    "statement.meaning_with_delta": (
        "Anything an observer of the release can conclude about one unit, they would have concluded with nearly the same probability if "
        "its rows had not been in the table: the probabilities differ by a factor of at most exp({epsilon}), plus at most {delta}."
    ),
    "statement.rho": "In zero-concentrated differential privacy: rho = {rho}.",
    "statement.pld": "Epsilon was computed from the composed privacy loss of all draws; computed from rho alone, it would be larger.",
    "statement.bounds": "Values were clipped to these public bounds: {bounds}.",
    "statement.bounds_epsilon": (
        "The bounds were estimated from the same rows beforehand, with epsilon = {bounds_epsilon}. Total: epsilon = {total}."
    ),
    "statement.origin": "Randomness: {randomness}. Variant: {variant}. dpmondrian {version}.",
    "statement.drawn": "Draws:",
    "statement.not_protected": "Not protected:",
    "promise": "epsilon = {epsilon}, delta = {delta}",
    "promise.pure": "epsilon = {epsilon} (pure)",
    "earlier_fits": plural(
        "The same process ran one earlier fit without charging a budget. If it used the same rows, its epsilon and delta add to "
        "the values above. Use a budget file to keep track.",
        "The same process ran {n:,} earlier fits without charging a budget. If they used the same rows, their epsilons and deltas "
        "add to the values above. Use a budget file to keep track.",
    ),
    "draws.release": "release",
    "draws.level": "level",
    "draws.mechanism": "mechanism",
    "draws.sensitivity": "sensitivity",
    "draws.scale": "scale",
    "draws.unit": "unit",
    "draws.values": "values",
    # The guarantee in one line
    "guarantee": "Differential privacy for {unit}: epsilon = {epsilon}, delta = {delta}.",
    "guarantee.pure": "Differential privacy for {unit}: epsilon = {epsilon}, pure (delta = 0).",
    "guarantee.seeded": (
        "Not private, because a seed was used. Without the seed: epsilon = {epsilon}, delta = {delta} for {unit}."
    ),
    "guarantee.seeded.pure": (
        "Not private, because a seed was used. Without the seed: epsilon = {epsilon}, pure (delta = 0) for {unit}."
    ),
    "guarantee.none": "No finite epsilon holds: this is not private.",
    # The promise without symbols
    "lead.strong": "Whether or not {unit} is in the table makes almost no difference to what you read here.",
    "lead.moderate": (
        "Whether or not {unit} is in the table changes what you read here only within the moderate limits stated below."
    ),
    "lead.weak": (
        "Whether or not {unit} is in the table changes what you read here within the limits stated below, but these are wide: an "
        "epsilon this large is a weak guarantee."
    ),
    "lead.seeded": "This is what a run without a seed would guarantee. This run guarantees nothing.",
    "lead.none": "There is no guarantee: no finite epsilon holds.",
}

_EXPLANATION: dict[str, Text] = {
    "explanation.not_releasable": (
        "NOT RELEASABLE: the noise was drawn with a seed. Anyone who knows the seed can remove it, so nothing below holds. Without a "
        "seed, it would."
    ),
    "explanation.head": "What {promise} means for {unit}.",
    "explanation.attacker": (
        "Suppose an attacker knows everything else about the table and wants to learn from the release whether this unit is in it."
    ),
    "explanation.coin": (
        "- If a coin toss decides whether it is, the attacker guesses right in at most {right} of 100 cases. Without the release: 50."
    ),
    "explanation.rate": (
        "- An attacker who wrongly accuses {wrongly} in 100 non-members identifies at most {found} in 100 members. Without the "
        "release: {wrongly}."
    ),
    "explanation.epsilon_alone": (
        "Epsilon and delta alone would only limit these to {right} correct guesses and {found} identified members."
    ),
    "explanation.basis.privacy loss": (
        "These limits hold regardless of what else the attacker knows and what they do with the release. They are computed from the "
        "composed privacy loss of all draws."
    ),
    "explanation.basis.zCDP": (
        "These limits hold regardless of what else the attacker knows and what they do with the release. They are computed from the "
        "zCDP cost of all draws, which is proven for noise in whole steps."
    ),
}

_FORECAST: dict[str, Text] = {
    "forecast.interval": "± is a 95 % interval for the difference between a released number and the exact one.",
    "forecast.warning": "Warning: {sentence}",
    "forecast.all": "Total number of {counted}: accurate to about ± {error}.",
    "forecast.cluster": "A cluster of {rows} {counted}: {known}.",
    "forecast.size": "its size to ± {error}",
    "forecast.centre": "{centre} to {error}",
    "forecast.mean": "its mean {name}",
    "forecast.geometric_mean": "its geometric mean {name}",
    "forecast.share": "its share of {name}",
    "forecast.percent": "± {error} %",
    "forecast.percentage_points": "± {error} percentage points",
    "forecast.points": "± {error} points",
    "forecast.more_columns": plural("and similarly for {n} more column", "and similarly for {n} more columns"),
    "forecast.smallest": (
        "Smallest cluster that can be found: about {rows} {counted}, if it is well separated from the others (an estimate)."
    ),
    "forecast.nothing_cut": "Smallest cluster that can be found: none, because no cuts are made.",
    "forecast.sure_count": (
        "Guaranteed with {probability} % probability: the first count of all {counted} is off by at most {error}."
    ),
    "forecast.sure_cut": (
        "Guaranteed with {probability} % probability: the first cut scores at most {error} {counted} less than the best possible one."
    ),
    "forecast.central_cut": (
        "If clusters are as wide as assumed, and there is an empty gap of a sixteenth of a column's range next to a cluster of {rows} "
        "{counted}: the first cut has at least {side} {counted} on its smaller side, with {probability} % probability."
    ),
    "forecast.no_central_cut": (
        "If clusters are as wide as assumed, and there is an empty gap of a sixteenth of a column's range next to a cluster of {rows} "
        "{counted}: the first cut may still be elsewhere. Later cuts may find the gap."
    ),
    "forecast.head.asked": "as specified",
    "forecast.head.twice_epsilon": "twice the epsilon",
    "forecast.head.twice_rows": "twice the {counted}",
    "forecast.row.epsilon": "epsilon",
    "forecast.row.cluster": plural("size of the only cluster", "size of one of {n:,} clusters"),
    "forecast.row.leaf": "size of a leaf of the tree",
    "forecast.row.smallest": "smallest detectable cluster, about",
    "forecast.row.sure_count": "guaranteed: first count off by at most",
    "forecast.row.sure_cut": "guaranteed: first cut below the best by at most",
    "forecast.row.central_cut": "if assumptions hold: its smaller side at least",
    # What will not work, or promises little
    "doubt.no_cuts": "No cuts will be made ('max_depth' is 0, or no column can be cut): all rows form one cluster.",
    "doubt.few_rows": (
        "a cluster needs about {needed} {counted} to be found, which is more than half of all {rows}. Increase epsilon, or collect more {counted}."
    ),
    "doubt.noise": "The result may be mostly noise: {sentence}",
    "doubt.fails": "This will not work: {sentence}",
    "doubt.small_clusters": (
        "Clusters of {rows} {counted} are too small to be found reliably: about {needed} are needed. Expect fewer and larger "
        "clusters, or increase epsilon."
    ),
    "doubt.blurred_centres": (
        "the errors of the centres will exceed the width of the clusters ({columns}). Increase epsilon, use fewer columns, or "
        "collect more {counted}."
    ),
    "doubt.large_epsilon": (
        "epsilon = {epsilon} gives almost no protection: probabilities may differ by a factor of exp({epsilon}). Common values are "
        "between 0.1 and 3."
    ),
    "doubt.delta_above_one_row": (
        "delta = {delta} is more than 1 / {rows}: it would permit publishing someone's row unchanged. Choose a value well below that, "
        "such as {better}."
    ),
    "doubt.large_delta": (
        "delta = {delta} is large: with about this probability, someone's row may be published unchanged. Choose a value well below "
        "1 / (number of people), such as {better}."
    ),
}

_PLOTS: dict[str, Text] = {
    "plot.title": plural(
        "{n} cluster, epsilon = {epsilon}, delta = {delta}", "{n} clusters, epsilon = {epsilon}, delta = {delta}"
    ),
    "plot.not_releasable": "NOT RELEASABLE (seeded): {title}",
    "plot.cluster": "cluster {cluster}",
    "plot.hierarchy.strength": "strength",
    "plot.hierarchy.threshold": "{threshold}: rarely more\nin one cloud",
    "plot.hierarchy.above": "nothing\nbetween",
    "plot.hierarchy.one_leaf": "one leaf: no cuts were made",
    "plot.hierarchy.clusters": "cluster and number of {counted}",
    "plot.hierarchy.some_clusters": "cluster and number of {counted} ({labelled} of {n} labelled)",
    "plot.forecast.title": "A cluster of {rows} {counted} (dashed: {twice})",
    "plot.forecast.errors": "95 % of errors are below",
    "plot.forecast.epsilon": "epsilon",
    "plot.forecast.size": "size, percent of the cluster's size",
    "plot.forecast.centres": "centre: {columns}, percent of the range",
    "plot.forecast.shares": "share of {columns}, percentage points",
}

_REPORT: dict[str, Text] = {
    "report.title": plural("{n} cluster of about {rows} {counted}", "{n} clusters of about {rows} {counted}"),
    "report.skip": "Skip to the report",
    "report.kicker": "Report on a differentially private release",
    "report.dark": "Dark mode",
    "report.light": "Light mode",
    "report.more_rules": "and {n} more rules",
    "report.cluster": "Cluster {cluster}",
    "report.cluster_size": "{size} {counted} ({share})",
    "report.alarm": "NOT RELEASABLE",
    "report.alarm.seeded": (
        "This is a research run: its noise was drawn with a seed and can be removed, so it protects nobody. Do not publish this report "
        "or its release."
    ),
    "report.alarm.none": "No finite epsilon holds: this result is not private. Do not publish it.",
    "report.figure.clusters": "Clusters",
    "report.figure.rows": "{counted}, about",
    "report.figure.columns": "Columns",
    "report.figure.epsilon": "Epsilon",
    "report.figure.delta": "Delta",
    "report.contents": "Contents",
    "report.contents.statement": "Privacy",
    "report.contents.clusters": "Clusters",
    "report.contents.rules": "Rules",
    "report.contents.profile": "Profiles",
    "report.contents.map": "Map of cuts",
    "report.contents.tree": "Tree",
    "report.contents.ledger": "Ledger",
    "report.contents.inputs": "Public inputs",
    "report.contents.limits": "Not protected",
    "report.contents.verify": "Verify",
    "report.contents.cite": "Cite",
    # What is promised
    "report.statement": "What is guaranteed",
    "report.protected": "Protected",
    "report.neighbours": "Neighbours",
    "report.neighbours.text": (
        "Two tables where {neighbours}. Beyond what epsilon and delta allow, nobody can tell from the release which of the two it was "
        "computed from."
    ),
    "report.epsilon": "Epsilon",
    "report.epsilon.text": (
        "{epsilon}. The probability of any result changes by a factor of at most e<sup>{epsilon}</sup> = {factor} when the rows of one "
        "such unit are added or removed."
    ),
    "report.epsilon.bounds": (
        "The column bounds were estimated privately from the same rows beforehand, with epsilon = {bounds_epsilon}. Epsilons add up: "
        "{own_epsilon} + {bounds_epsilon} = {epsilon}."
    ),
    "report.delta": "Delta",
    "report.delta.text": (
        "{delta}, or 1 in {one_in}: roughly the probability that this factor is exceeded. It should be far below 1 divided by the number "
        "of people; delta times the number of rows is {expected} for about {rows} rows."
    ),
    "report.delta.none": "0: the factor holds without exception.",
    "report.rho": "Rho",
    "report.rho.text": (
        "{rho}: the guarantee of the clustering itself, expressed in zero-concentrated differential privacy, where the costs in the "
        "ledger add up."
    ),
    "report.randomness": "Randomness",
    "report.software": "Software",
    "report.software.text": "dpmondrian {version}, variant “{variant}”",
    "report.origin": "Origin",
    "report.origin.text": "{date}",
    "report.origin.data_set": "Data set <bdi>{data_set}</bdi>, {date}",
    "report.account": "Account",
    "report.account.text": (
        "The total for this data set is epsilon = {total_epsilon}, delta = {total_delta}. Spent before this release: epsilon = "
        "{before_epsilon}, delta = {before_delta}; after it: epsilon = {after_epsilon}, delta = {after_delta}."
    ),
    "report.account.none": (
        "No budget was charged. If several releases of the same rows are published, their costs must be added up."
    ),
    # For one person
    "report.example": "What this means for one person",
    "report.example.seeded": "Without the seed, the following would hold.",
    "report.example.text": (
        "Suppose an attacker knows everything else about the table and wants to find out from this report whether a certain person is in "
        "it. Whatever they do, identifying more people correctly means accusing more people wrongly:"
    ),
    "report.example.wrongly": "wrongly accused, of 100 people not in the table",
    "report.example.found": "identified at most, of 100 people in it",
    "report.example.without": "without the report",
    "report.example.coin": (
        'If a coin toss decides whether the person is in the table, the attacker guesses right in at most <span id="right">{right}</span> '
        "of 100 cases; without the report, in 50. The same limits hold for every other fact about that person. They follow from all draws "
        'in the <a href="#ledger">ledger</a> combined; epsilon and delta alone would allow {right_by_epsilon} correct guesses. <code>dpm '
        "explain release.json</code> prints the same numbers."
    ),
    "report.example.none": "There is no limit on what an attacker can find out.",
    # The clusters
    "report.clusters": "The clusters",
    "report.clusters.text": (
        "Largest first, numbered from 0 like the labels returned by <code>predict</code>. The number after ± is the standard error of the "
        "noise added for privacy: about two thirds of the values are off by less, and 95 % by less than twice as much. Rows far from the "
        "centre are clipped before they are averaged, which may shift the centre of a skewed or very small cluster by more."
    ),
    "report.clusters.rows": "Sizes count rows, not people.",
    "report.clusters.part": (
        "Showing {clusters} of {all_clusters} clusters and {columns} of {all_columns} columns, those with the most cuts. The release "
        "contains all of them."
    ),
    "report.clusters.caption": "Size, share and centre of every cluster",
    "report.clusters.cluster": "Cluster",
    "report.clusters.size": "Size",
    "report.clusters.bar": "Size as a bar",
    "report.clusters.share": "Share",
    # Rules
    "report.rules": "Rules",
    "report.rules.text": (
        "The table was cut into parts. Each rule describes one part, and a cluster consists of one or more parts. Rows belong to the "
        "cluster with the nearest centre: near an edge, a row may match the rule of one cluster and be closer to the centre of another."
    ),
    "report.rules.none": "no part of its own; its rows are those nearest to its centre",
    "report.rules.more": plural("{n} more cluster", "{n} more clusters"),
    # Profiles
    "report.profile": "Profiles",
    "report.profile.text": (
        "Each line is a cluster. Its markers show where the centre lies between the public bounds of each column, with a whisker of one "
        "standard error where that is wider than the marker."
    ),
    "report.profile.plot": "Profile plot",
    "report.profile.plot.text": "Centres of the clusters in each column, scaled to the bounds",
    "report.profile.picks": "Clusters in the plot",
    "report.profile.all": "all",
    "report.profile.none": "none",
    "report.profile.part": "Initially shown: the {shown} largest of {n} clusters.",
    "report.profile.reach": "Hover over a line, or use Tab and the arrow keys.",
    # Map of cuts
    "report.map": "Map of cuts",
    "report.map.text": (
        "The parts between the cuts are drawn as boxes in the colour of their cluster, two columns at a time. Centres are markers whose "
        "area shows the size of the cluster, with whiskers of one standard error."
    ),
    "report.map.overlap": "Boxes that are separated in other columns overlap.",
    "report.map.directions": "Cuts along directions between columns are not drawn: boxes on both sides of them overlap.",
    "report.map.across": "horizontal",
    "report.map.upwards": "vertical",
    "report.map.plot": "Boxes between the cuts, and the centres of the clusters",
    "report.map.reach": "Hover over a marker or a box, or move between markers with Tab and the arrow keys.",
    "report.map.scales": "The axes span the public bounds.",
    # The tree
    "report.tree": "The tree of cuts",
    "report.tree.unmeasured": (
        "Every part is cut in two where it is emptiest. This run did not measure how clearly the two sides are separated."
    ),
    "report.tree.one_cluster": (
        "All parts of the table were merged into one cluster: nothing in it is clearly separated."
    ),
    "report.tree.strength": (
        "The strength of a cut measures how clearly its two sides are separated: 0 means no more than in evenly spread data, 1 means that "
        "nobody lies between them. The number after ± is its standard error, from noise and from chance. Cuts through a single cloud "
        "rarely exceed {flat}."
    ),
    "report.tree.apart": (
        "The clusters of this release are clearly separated: the weakest separation between two of them has strength {strength}."
    ),
    "report.tree.hardly_apart": (
        "The clusters of this release are separated as a whole, but not necessarily each of them: the weakest separation between two of "
        "them has strength {strength}."
    ),
    "report.tree.open": "expand all",
    "report.tree.close": "collapse all",
    "report.tree.root": "All {counted}",
    "report.tree.cut": "cut along <bdi>{column}</bdi>",
    "report.tree.cut_with_strength": "cut along <bdi>{column}</bdi>, strength {strength}",
    "report.tree.cluster": "cluster",
    # The ledger
    "report.ledger": "The ledger",
    "report.ledger.text": (
        "Everything in the release that was computed from the rows was drawn with noise, and recorded here before it was drawn. Deeper "
        "levels that were not needed are charged as well."
    ),
    "report.ledger.kinds": "Draws by type",
    "report.ledger.kinds.caption": "Draws by type, with their share of the budget",
    "report.ledger.draw": "Draw",
    "report.ledger.use": "Purpose",
    "report.ledger.values": "Values",
    "report.ledger.share_of_budget": "Share of the budget",
    "report.ledger.nothing": "Nothing was drawn.",
    "report.ledger.every": "Every draw ({n})",
    "report.ledger.every.text": (
        "Sensitivity is the maximum change of the value due to one unit of privacy; scale is the size of the noise. Both are in the unit given."
    ),
    "report.ledger.every.region": "Every draw",
    "report.ledger.every.caption": "Every draw with its noise and its cost",
    "report.ledger.level": "Level",
    "report.ledger.mechanism": "Mechanism",
    "report.ledger.sensitivity": "Sensitivity",
    "report.ledger.scale": "Scale",
    "report.ledger.unit": "Unit",
    "report.ledger.cost": "Cost ({currency})",
    "report.ledger.cost.joint": "Cost (epsilon; mu for Gaussian noise)",
    "report.ledger.share": "Share",
    # Public inputs
    "report.inputs": "Public inputs",
    "report.inputs.text": (
        "Known before any row was read. Values outside the bounds were clipped; undeclared categories count as “other”."
    ),
    "report.inputs.estimated": (
        "Known before any row was read, except for the bounds that were estimated privately. Values outside the bounds were clipped; "
        "undeclared categories count as “other”."
    ),
    "report.inputs.columns": "Columns",
    "report.inputs.caption": "Columns and their public bounds or categories",
    "report.inputs.column": "Column",
    "report.inputs.kind": "Type",
    "report.inputs.domain": "Bounds or categories",
    "report.inputs.unit": "Unit",
    "report.inputs.parameters": "Parameters",
    "report.inputs.chosen": "chosen by DPM",
    # Limits, how to verify, how to cite
    "report.limits": "What is not protected",
    "report.verify": "How to verify",
    "report.verify.digest": "Digest of the release that this report was generated from:",
    "report.verify.text": (
        "Anyone who has the file <code>release.json</code> can check that it has this digest, that the noise in the ledger costs what is "
        "stated, and that tree, sizes and centres are consistent:"
    ),
    "report.verify.budget": (
        "With <code>--budget budget.json</code>, the data holder can also check it against the account. That the values were drawn as the "
        "ledger says rests on the publisher's word; a signature on the digest shows who that is."
    ),
    "report.cite": "How to cite and regenerate",
    "report.cite.method": "The method: {paper}",
    "report.cite.software": (
        "The software: dpmondrian {version}, an independent implementation of DPM with a corrected analysis."
    ),
    "report.cite.redraw": (
        "This report is generated from the release alone. Anyone who has the file <code>release.json</code> can generate it again:"
    ),
}

_NOTEBOOK: dict[str, Text] = {
    "notebook.alarm": "<strong>NOT RELEASABLE</strong>: {reason}",
    "notebook.alarm.seeded": "the noise was drawn with a seed and can be removed. For research only.",
    "notebook.alarm.none": "no finite epsilon holds, so this is not private.",
    "notebook.title": plural("{n} cluster of about {rows} {counted}.", "{n} clusters of about {rows} {counted}."),
    "notebook.cluster": "cluster",
    "notebook.size": "size",
    "notebook.share": "share",
    "notebook.errors": "The number after ± is the standard error of the noise.",
    "notebook.part": "{clusters} of {all_clusters} clusters, {columns} of {all_columns} columns.",
    "notebook.neighbours": "Neighbouring tables: {neighbours}.",
    "notebook.coin": (
        "If a coin toss decides whether a certain person is in the table, an attacker who knows everything else guesses right in at most "
        "{right} of 100 cases; without the release, in 50."
    ),
    "notebook.bounds": ("This includes epsilon = {bounds_epsilon} spent on estimating the bounds from the same rows."),
    "notebook.drawn": "Draws",
    "notebook.draw": "draw",
    "notebook.use": "purpose",
    "notebook.values": "values",
    "notebook.budget": "budget",
    "notebook.not_protected": "Not protected",
    "notebook.origin": "Randomness: {randomness}. dpmondrian {version}, variant {variant}.",
}

_COMMAND_LINE: dict[str, Text] = {
    "table.cluster": "cluster",
    "table.title": plural(
        "{n:,} cluster, epsilon = {epsilon}, delta = {delta}", "{n:,} clusters, epsilon = {epsilon}, delta = {delta}"
    ),
    "table.title.bounds": plural(
        "{n:,} cluster, epsilon = {epsilon} ({bounds_epsilon} of it for the bounds), delta = {delta}",
        "{n:,} clusters, epsilon = {epsilon} ({bounds_epsilon} of it for the bounds), delta = {delta}",
    ),
}

ENGLISH = Words(
    "en",
    {
        **_FACTS,
        **_STATEMENT,
        **_EXPLANATION,
        **_FORECAST,
        **_PLOTS,
        **_REPORT,
        **_NOTEBOOK,
        **_COMMAND_LINE,
    },
)
