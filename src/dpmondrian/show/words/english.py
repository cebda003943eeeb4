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
    "unit.row.note": "; that is one person, if nobody has more than one row",
    # Which tables nobody can tell apart
    "neighbours.add_or_remove": "one arises from the other by adding or removing {rows}",
    "neighbours.row": "one row",
    "neighbours.assumed_rows": "all rows of one person, at most {n}; every sensitivity below is multiplied by {n}",
    "neighbours.person_id": plural(
        "all rows of one person, of which one was kept, chosen at random",
        "all rows of one person, of which at most {n} were kept, chosen at random; every sensitivity below is multiplied by {n}",
    ),
    "randomness.secure": "operating system and OpenDP, cryptographically secure",
    "randomness.seeded": "a seed; reproducible, not private",
    "not_protected.public_inputs": (
        "the bounds, column names and parameters: they are public inputs and are published with the result"
    ),
    "not_protected.outputs_of_rows": (
        "labels of rows, and what predict and transform return: they are computed from single rows and stay with the holder"
    ),
    "not_protected.side_channels": "running time, memory and other side channels",
    "not_protected.several_releases": "several releases from the same rows: their epsilons and deltas add up",
    "not_protected.groups": (
        "facts about groups larger than the unit of privacy, which are what the release is meant to show"
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
    "use.count": "How many rows there are, in all and on both sides of every cut.",
    "use.split": "Where to cut: in each part of the table, one column and one place in it are chosen.",
    "use.bridge": "How many rows lie on the way between two neighbouring parts, to see which parts are one cluster.",
    "use.level": "Which of the few groupings of parts that remain open is taken.",
    "use.coarse sums": "A first rough centre of every part.",
    "use.radius": "How far from their centre rows may count in the next step.",
    "use.category sums": "How many of each category there are in every cluster.",
    "use.clipped sums": "Better centres: rows far from the centre known so far count only as far as the radius reaches.",
    "use.cell count": "How many rows are nearest to each centre.",
    "use.interval size": "How fine the grid of possible cuts is.",
    "use.sums": "The centre of every cluster.",
    "use.unknown": "A part of the algorithm that this report has no words for; its cost is counted like the others.",
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
    "cost.joint": "cost (epsilon; of Gaussian noise: mu)",
    # Columns
    "column.numbers": "numbers",
    "column.whole": "whole numbers",
    "column.log": "numbers on a log scale",
    "column.categories": "categories",
    "column.categories_cut": "categories, may be cut",
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
    "statement.not_releasable": ("NOT RELEASABLE: drawn with a seed, so the noise can be reproduced. Research only."),
    "statement.promise": "Differential privacy with {promise}.",
    "statement.unit": "Unit of privacy: {unit}.",
    "statement.neighbours": "Neighbouring tables: {neighbours}.",
    "statement.meaning": (
        "Whatever an observer of the release may conclude about one unit, they would have concluded with nearly the same probability "
        "had its rows not been in the table: probabilities differ by a factor of at most exp({epsilon})."
    ),
    "statement.meaning_with_delta": (
        "Whatever an observer of the release may conclude about one unit, they would have concluded with nearly the same probability "
        "had its rows not been in the table: probabilities differ by a factor of at most exp({epsilon}), up to an additional {delta}."
    ),
    "statement.rho": "In zero-concentrated differential privacy: rho = {rho}.",
    "statement.pld": "Epsilon was computed from the composed privacy loss of all draws; by rho alone it would be larger.",
    "statement.bounds": "Public bounds, to which values were clipped: {bounds}.",
    "statement.bounds_epsilon": (
        "The bounds were estimated from the same rows before, with epsilon = {bounds_epsilon}. Together: epsilon = {total}."
    ),
    "statement.origin": "Randomness: {randomness}. Variant: {variant}. dpmondrian {version}.",
    "statement.drawn": "What was drawn:",
    "statement.not_protected": "Not protected:",
    "promise": "epsilon = {epsilon}, delta = {delta}",
    "promise.pure": "epsilon = {epsilon} (pure)",
    "earlier_fits": plural(
        "Before this one, the same process made one fit that no budget was charged for. If it used the same rows, its epsilon and "
        "delta add to the ones above; a budget keeps the account.",
        "Before this one, the same process made {n:,} fits that no budget was charged for. If they used the same rows, their "
        "epsilons and deltas add to the ones above; a budget keeps the account.",
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
        "No privacy, because of the seed. Without it: epsilon = {epsilon}, delta = {delta} for {unit}."
    ),
    "guarantee.seeded.pure": (
        "No privacy, because of the seed. Without it: epsilon = {epsilon}, pure (delta = 0) for {unit}."
    ),
    "guarantee.none": "No finite epsilon holds: this is not private.",
    # The promise without symbols
    "lead.strong": "Whether or not {unit} is in the table hardly changes what you read here.",
    "lead.moderate": (
        "Whether or not {unit} is in the table changes what you read here only within moderate, stated limits."
    ),
    "lead.weak": (
        "Whether or not {unit} is in the table changes what you read here within stated limits, but these are wide: with an epsilon "
        "this large the promise is weak."
    ),
    "lead.seeded": "This is what a run without a seed would promise. This run promises nothing.",
    "lead.none": "Nothing is promised: no finite epsilon holds.",
}

_EXPLANATION: dict[str, Text] = {
    "explanation.not_releasable": (
        "NOT RELEASABLE: drawn with a seed. Whoever knows the seed can take the noise away, and nothing below holds. Without the "
        "seed it would."
    ),
    "explanation.head": "What {promise} means for {unit}.",
    "explanation.attacker": (
        "An attacker knows everything else about the table and wants to learn from the release whether this unit is in it."
    ),
    "explanation.coin": (
        "- Where a coin decides about that, the attacker is right in at most {right} of 100 cases. Without the release: 50."
    ),
    "explanation.rate": (
        "- An attacker who accuses {wrongly} in 100 people wrongly finds at most {found} in 100 members. Without the release: "
        "{wrongly}."
    ),
    "explanation.epsilon_alone": (
        "Epsilon and delta alone would allow {right} right cases, and {found} members found."
    ),
    "explanation.basis.privacy loss": (
        "These bounds hold whatever else the attacker knows, and whatever they do with the release. They are computed from the "
        "composed privacy loss of all draws."
    ),
    "explanation.basis.zCDP": (
        "These bounds hold whatever else the attacker knows, and whatever they do with the release. They are computed from the zCDP "
        "cost of all draws, which noise in whole steps is proven to keep."
    ),
}

_FORECAST: dict[str, Text] = {
    "forecast.interval": "± is a 95 % interval: how far noise takes a released number from the exact one.",
    "forecast.warning": "Warning: {sentence}",
    "forecast.all": "Number of {counted}: known to about ± {error}.",
    "forecast.cluster": "A cluster of {rows} {counted}: {known}.",
    "forecast.size": "its size to ± {error}",
    "forecast.centre": "{centre} to {error}",
    "forecast.mean": "its mean {name}",
    "forecast.geometric_mean": "its geometric mean {name}",
    "forecast.share": "its share of {name}",
    "forecast.percent": "± {error} %",
    "forecast.percentage_points": "± {error} percentage points",
    "forecast.points": "± {error} points",
    "forecast.more_columns": plural("and {n} more column likewise", "and {n} more columns likewise"),
    "forecast.smallest": (
        "Smallest cluster that will be found: about {rows} {counted}, if it is well apart from the others (an estimate)."
    ),
    "forecast.nothing_cut": "Smallest cluster that will be found: nothing is cut.",
    "forecast.sure_count": (
        "Guaranteed with {probability} % probability: the first count of all {counted} is off by at most {error}."
    ),
    "forecast.sure_cut": (
        "Guaranteed with {probability} % probability: the cut that is chosen first scores at most {error} {counted} less than the best one."
    ),
    "forecast.central_cut": (
        "If clusters are as wide as assumed, and an empty gap of a sixteenth of a column's range lies beside one of {rows} {counted}: "
        "the cut that is chosen first has at least {side} {counted} on its smaller side, with {probability} % probability."
    ),
    "forecast.no_central_cut": (
        "If clusters are as wide as assumed, and an empty gap of a sixteenth of a column's range lies beside one of {rows} {counted}: "
        "the cut that is chosen first may still lie elsewhere. Later ones may find the gap."
    ),
    "forecast.head.asked": "as asked",
    "forecast.head.twice_epsilon": "twice the epsilon",
    "forecast.head.twice_rows": "twice the {counted}",
    "forecast.row.epsilon": "epsilon",
    "forecast.row.cluster": plural("size of the one cluster", "size of one of {n:,} clusters"),
    "forecast.row.leaf": "size of a leaf of the tree",
    "forecast.row.smallest": "smallest cluster found, about",
    "forecast.row.sure_count": "sure: first count off by at most",
    "forecast.row.sure_cut": "sure: first chosen cut behind by at most",
    "forecast.row.central_cut": "if as assumed: its smaller side at least",
    # What will not work, or promises little
    "doubt.no_cuts": "No cut will be made ('max_depth' is 0, or no column may be cut): all rows are one cluster.",
    "doubt.few_rows": (
        "a cluster needs about {needed} {counted} to be found, more than half of all {rows}. Raise epsilon, or get more {counted}."
    ),
    "doubt.noise": "What was found may be noise: {sentence}",
    "doubt.fails": "This will not work: {sentence}",
    "doubt.small_clusters": (
        "Clusters of {rows} {counted} are too small to be found reliably: about {needed} are needed. Expect fewer and larger "
        "clusters, or raise epsilon."
    ),
    "doubt.blurred_centres": (
        "centres will be off by more than the clusters are wide ({columns}). Raise epsilon, leave out columns, or "
        "get more {counted}."
    ),
    "doubt.large_epsilon": (
        "epsilon = {epsilon} promises next to nothing to anybody: probabilities may differ by a factor of exp({epsilon}). Common "
        "choices lie between 0.1 and 3."
    ),
    "doubt.delta_above_one_row": (
        "delta = {delta} is more than 1 / {rows}: it would allow publishing somebody's row as it is. Choose one well below that, such "
        "as {better}."
    ),
    "doubt.large_delta": (
        "delta = {delta} is large: with about this probability somebody's row may be published as it is. Choose one well below 1 / "
        "(number of people), such as {better}."
    ),
}

_PLOTS: dict[str, Text] = {
    "plot.title": plural(
        "{n} cluster, epsilon = {epsilon}, delta = {delta}", "{n} clusters, epsilon = {epsilon}, delta = {delta}"
    ),
    "plot.not_releasable": "NOT RELEASABLE (seeded): {title}",
    "plot.cluster": "cluster {cluster}",
    "plot.hierarchy.strength": "strength",
    "plot.hierarchy.threshold": "{threshold}: seldom more\nin one cloud",
    "plot.hierarchy.above": "nothing\nbetween",
    "plot.hierarchy.one_leaf": "one leaf: nothing was cut",
    "plot.hierarchy.clusters": "cluster and number of {counted}",
    "plot.hierarchy.some_clusters": "cluster and number of {counted} ({labelled} of {n} labelled)",
    "plot.forecast.title": "A cluster of {rows} {counted} (dashed: of {twice})",
    "plot.forecast.errors": "95 % of errors are below",
    "plot.forecast.epsilon": "epsilon",
    "plot.forecast.size": "size, per cent of the cluster's size",
    "plot.forecast.centres": "centre: {columns}, per cent of the range",
    "plot.forecast.shares": "share of {columns}, percentage points",
}

_REPORT: dict[str, Text] = {
    "report.title": plural("{n} cluster of about {rows} {counted}", "{n} clusters of about {rows} {counted}"),
    "report.skip": "Skip to the report",
    "report.kicker": "Report on a differentially private release",
    "report.dark": "Dark colours",
    "report.light": "Light colours",
    "report.more_rules": "and {n} more rules",
    "report.cluster": "Cluster {cluster}",
    "report.cluster_size": "{size} {counted} ({share})",
    "report.alarm": "NOT RELEASABLE",
    "report.alarm.seeded": (
        "This is a research run: its noise was drawn with a seed and can be computed away, so it protects nobody. Do not publish this "
        "report or its release."
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
    "report.statement": "What is promised",
    "report.protected": "Protected",
    "report.neighbours": "Neighbours",
    "report.neighbours.text": (
        "Two tables of which {neighbours}. Nobody can tell from the release, beyond what epsilon and delta allow, which of the two it "
        "was made from."
    ),
    "report.epsilon": "Epsilon",
    "report.epsilon.text": (
        "{epsilon}. The probability of any result changes by a factor of at most e<sup>{epsilon}</sup> = {factor} when the rows of one "
        "such unit are added or removed."
    ),
    "report.epsilon.bounds": (
        "The bounds of columns were estimated privately from the same rows before, with epsilon = {bounds_epsilon}. Epsilons add up: "
        "{own_epsilon} + {bounds_epsilon} = {epsilon}."
    ),
    "report.delta": "Delta",
    "report.delta.text": (
        "{delta}, or 1 in {one_in}: roughly the probability with which that factor may fail. It should be far below 1 divided by the "
        "number of people; delta times the number of rows is {expected} for about {rows} rows."
    ),
    "report.delta.none": "0: the factor holds without exception.",
    "report.rho": "Rho",
    "report.rho.text": (
        "{rho}: the same guarantee, of the clustering itself, in zero-concentrated differential privacy, in which the costs in the "
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
        "Of a total of epsilon = {total_epsilon}, delta = {total_delta} for this data set, epsilon = {before_epsilon}, delta = "
        "{before_delta} was spent before this release, and epsilon = {after_epsilon}, delta = {after_delta} after it."
    ),
    "report.account.none": (
        "No budget was charged: whoever publishes several releases of the same rows must add them up."
    ),
    # For one person
    "report.example": "What that means for one person",
    "report.example.seeded": "Without the seed, this would hold.",
    "report.example.text": (
        "Suppose an attacker knows everything else about the table and wants to find out from this report whether a certain person is in "
        "it. Whatever they do, the more people they accuse rightly, the more they accuse wrongly:"
    ),
    "report.example.wrongly": "accused wrongly, of 100 who are not in it",
    "report.example.found": "found at most, of 100 who are",
    "report.example.without": "without the report",
    "report.example.coin": (
        'Where a coin decides whether the person is in the table, the attacker is right in at most <span id="right">{right}</span> of '
        "100 cases; without the report in 50. The same limits hold for every other fact about that person. They follow from all draws "
        'in the <a href="#ledger">ledger</a> together; epsilon and delta alone would allow {right_by_epsilon} right cases. <code>dpm '
        "explain release.json</code> says the same."
    ),
    "report.example.none": "Nothing can be said about what an attacker may find out.",
    # The clusters
    "report.clusters": "The clusters",
    "report.clusters.text": (
        "Largest first, numbered from 0 like the labels that <code>predict</code> gives. After ± stands the standard error of the noise "
        "that was added for privacy: about two thirds of the values are off by less, nineteen in twenty by less than twice as much. "
        "Far-off rows are shortened before they are averaged, which may move the centre of a skewed or very small cluster by more."
    ),
    "report.clusters.rows": "Sizes count rows, not people.",
    "report.clusters.part": (
        "Shown: {clusters} of {all_clusters} clusters and {columns} of {all_columns} columns, those that are cut most. The release "
        "holds all of them."
    ),
    "report.clusters.caption": "Size, share and centre of every cluster",
    "report.clusters.cluster": "Cluster",
    "report.clusters.size": "Size",
    "report.clusters.bar": "Size as a bar",
    "report.clusters.share": "Share",
    # Rules
    "report.rules": "Rules",
    "report.rules.text": (
        "The table was cut into parts; each rule describes one of them, and a cluster has one or several. A cluster is what lies nearest "
        "to its centre: near an edge, a row may fulfil the rule of one cluster and be nearer to the centre of another."
    ),
    "report.rules.none": "no part of its own: its rows are those nearest to its centre",
    "report.rules.more": plural("{n} more cluster", "{n} more clusters"),
    # Profiles
    "report.profile": "Profiles",
    "report.profile.text": (
        "Each line is a cluster; its marks show where its centre lies between the public bounds of each column, with a whisker of one "
        "standard error where that is wider than the mark."
    ),
    "report.profile.plot": "Profile plot",
    "report.profile.plot.text": "Centres of the clusters in each column, scaled to the bounds",
    "report.profile.picks": "Clusters in the plot",
    "report.profile.all": "all",
    "report.profile.none": "none",
    "report.profile.part": "Drawn at first: the {shown} largest of {n} clusters.",
    "report.profile.reach": "Point at a line, or reach it with Tab and the arrow keys.",
    # Map of cuts
    "report.map": "Map of cuts",
    "report.map.text": (
        "The parts between the cuts as boxes in the colour of their cluster, in two columns at a time; centres as marks whose area shows "
        "the size of the cluster, with whiskers of one standard error."
    ),
    "report.map.overlap": "Boxes that are cut apart in other columns lie upon each other.",
    "report.map.directions": "Cuts along directions between columns are not drawn: boxes on both sides of them overlap.",
    "report.map.across": "across",
    "report.map.upwards": "upwards",
    "report.map.plot": "Boxes between the cuts, and the centres of the clusters",
    "report.map.reach": "Point at a mark or a box, or reach the marks with Tab and the arrow keys.",
    "report.map.scales": "Scales run over the public bounds.",
    # The tree
    "report.tree": "The tree of cuts",
    "report.tree.unmeasured": (
        "Every part is cut in two where it is emptiest. How clearly the two sides are apart was not measured in this run."
    ),
    "report.tree.one_cluster": ("All parts of the table were joined to one cluster: nothing in it is clearly apart."),
    "report.tree.strength": (
        "The strength of a cut says how clearly its two sides are apart: 0 means no more than in evenly spread data, 1 that nobody lies "
        "between them. The number after ± is its standard error, from noise and from chance. Cuts through a single cloud seldom exceed "
        "{flat}."
    ),
    "report.tree.apart": (
        "The clusters of this release are clearly apart: the weakest separation between two of them has strength {strength}."
    ),
    "report.tree.hardly_apart": (
        "Together the clusters of this release are apart, but it is not certain that each of them is: the weakest separation between two "
        "of them has strength {strength}."
    ),
    "report.tree.open": "open all",
    "report.tree.close": "close all",
    "report.tree.root": "All {counted}",
    "report.tree.cut": "cut along <bdi>{column}</bdi>",
    "report.tree.cut_with_strength": "cut along <bdi>{column}</bdi>, strength {strength}",
    "report.tree.cluster": "cluster",
    # The ledger
    "report.ledger": "The ledger",
    "report.ledger.text": (
        "Everything that was computed from the rows and left was drawn with noise and written down here before. Deeper levels that were "
        "not needed are charged all the same."
    ),
    "report.ledger.kinds": "What was drawn, by kind",
    "report.ledger.kinds.caption": "What was drawn, by kind, with its share of the budget",
    "report.ledger.draw": "Draw",
    "report.ledger.use": "What it is for",
    "report.ledger.values": "Values",
    "report.ledger.share_of_budget": "Share of the budget",
    "report.ledger.nothing": "Nothing was drawn.",
    "report.ledger.every": "Every draw ({n})",
    "report.ledger.every.text": (
        "Sensitivity is the most that one unit of privacy can change the value, scale the size of the noise, both in the unit beside."
    ),
    "report.ledger.every.region": "Every draw",
    "report.ledger.every.caption": "Every draw with its noise and its cost",
    "report.ledger.level": "Level",
    "report.ledger.mechanism": "Mechanism",
    "report.ledger.sensitivity": "Sensitivity",
    "report.ledger.scale": "Scale",
    "report.ledger.unit": "Unit",
    "report.ledger.cost": "Cost ({currency})",
    "report.ledger.cost.joint": "Cost (epsilon; of Gaussian noise: mu)",
    "report.ledger.share": "Share",
    # Public inputs
    "report.inputs": "Public inputs",
    "report.inputs.text": (
        "Known before any row was read. Values beyond the bounds were clipped to them; categories that were not declared count as “other”."
    ),
    "report.inputs.estimated": (
        "Known before any row was read, but for the bounds that were estimated privately. Values beyond the bounds were clipped to them; "
        "categories that were not declared count as “other”."
    ),
    "report.inputs.columns": "Columns",
    "report.inputs.caption": "Columns and their public bounds or categories",
    "report.inputs.column": "Column",
    "report.inputs.kind": "Kind",
    "report.inputs.domain": "Bounds or categories",
    "report.inputs.unit": "Unit",
    "report.inputs.parameters": "Parameters",
    "report.inputs.chosen": "chosen by DPM",
    # Limits, how to verify, how to cite
    "report.limits": "What is not protected",
    "report.verify": "How to verify",
    "report.verify.digest": "The digest of the release from which this report is drawn:",
    "report.verify.text": (
        "Whoever has the file <code>release.json</code> can check that it has this digest, that the noise in the ledger costs what is "
        "promised, and that tree, sizes and centres fit together:"
    ),
    "report.verify.budget": (
        "With <code>--budget budget.json</code>, the holder of the data checks it against the account too. That the values were drawn as "
        "the ledger says is the word of whoever published them; a signature of the digest shows who that is."
    ),
    "report.cite": "How to cite, how to redraw",
    "report.cite.method": "The method: {paper}",
    "report.cite.software": (
        "The software: dpmondrian {version}, an independent implementation of DPM with a corrected analysis."
    ),
    "report.cite.redraw": (
        "This report is drawn from the release alone. Whoever has the file <code>release.json</code> can draw it again:"
    ),
}

_NOTEBOOK: dict[str, Text] = {
    "notebook.alarm": "<strong>NOT RELEASABLE</strong>: {reason}",
    "notebook.alarm.seeded": "drawn with a seed, so the noise can be computed away. Research only.",
    "notebook.alarm.none": "no finite epsilon holds, so this is not private.",
    "notebook.title": plural("{n} cluster of about {rows} {counted}.", "{n} clusters of about {rows} {counted}."),
    "notebook.cluster": "cluster",
    "notebook.size": "size",
    "notebook.share": "share",
    "notebook.errors": "After ± stands the standard error of the noise.",
    "notebook.part": "{clusters} of {all_clusters} clusters, {columns} of {all_columns} columns.",
    "notebook.neighbours": "Neighbouring tables: {neighbours}.",
    "notebook.coin": (
        "Where a coin decides whether a certain person is in the table, an attacker who knows everything else is right in at most "
        "{right} of 100 cases; without the release in 50."
    ),
    "notebook.bounds": (
        "This includes epsilon = {bounds_epsilon} with which the bounds were estimated from the same rows."
    ),
    "notebook.drawn": "What was drawn",
    "notebook.draw": "draw",
    "notebook.use": "what it is for",
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
