"""English: the words for everything that is shown of a release, a statement or a forecast.

A text may have fields, filled in as by `str.format`. Texts of the topics "report" and "notebook" that hold elements of HTML are
asked for with `Words.html`. Facts that come as keys (draws, mechanisms, units, ...) have their key at the end of the name.
"""

from __future__ import annotations

from dpmondrian.show.words.catalogue import Text, Words, plural

_FACTS: dict[str, Text] = {
    # Whose privacy is protected
    "unit.row": "one row",
    "unit.assumed_rows": "one person with up to {n} rows",
    "unit.person_id": "one person, identified by column {column}",
    "unit.row.short": "one row",
    "unit.person.short": "one person",
    "unit.row.noun": "row",
    "unit.person.noun": "person",
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
    "draw.coarse sums": "coarse sums",
    "draw.distances": "distances",
    "draw.grid": "grid",
    "draw.lines": "lines",
    "draw.category counts": "category counts",
    "draw.clipped sums": "clipped sums",
    "draw.cell count": "cell count",
    "draw.profiles": "profiles",
    "draw.quality": "quality",
    "draw.interval size": "interval size",
    "draw.sums": "sums",
    "use.count": "The number of rows, in total and on both sides of every cut.",
    "use.split": "Where to cut: selects one column and one position in each part of the table.",
    "use.coarse sums": "A first, rough centre of every part.",
    "use.distances": "How far rows are from their centres, to decide up to which distance they count in full.",
    "use.grid": "The number of rows in every square of a grid, to find hills that are apart.",
    "use.lines": "The number of rows along directions, to find gaps between clusters.",
    "use.category counts": "The number of rows of each category in every cluster.",
    "use.clipped sums": "Refined centres: rows far from the current centre are clipped to the radius.",
    "use.cell count": "The number of rows nearest to each centre.",
    "use.profiles": "The number of rows of every cluster in the bins of every column.",
    "use.quality": "How far rows are from their own centre, and how much farther from the next one, over all rows.",
    "use.interval size": "The resolution of the grid of possible cuts.",
    "use.sums": "The centre of every cluster.",
    "use.unknown": "A step of the algorithm that this report cannot describe; its cost is included like all others.",
    "mechanism.discrete Gaussian": "discrete Gaussian",
    "mechanism.discrete Laplace": "discrete Laplace",
    "mechanism.permute-and-flip": "permute-and-flip",
    "mechanism.exponential mechanism": "exponential mechanism",
    "draw_unit.rows": "rows",
    "draw_unit.score steps": "score steps",
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
    "column.bands": "ordered bands",
    "column.date": "dates",
    "column.time": "times of day",
    "column.yes": "yes or no",
    "column.categories": "categories",
    "column.categories_cut": "categories, can be cut",
    "column.bounds": "{lower} to {upper}",
    "column.log_scale": "log scale",
    "column.share": "share",
    "column.shares": "shares",
    "column.share_of": "share of {name}",
    "and_more": "{listed} and {n:,} more",
    "others": plural("1 other", "{n:,} others"),
    "number_of": "number of {counted}",
    # What was found, and how surely
    "found.one": (
        "No separate clusters were found: as far as this budget can tell, all {counted} (about {rows}) belong together."
    ),
    "found.one.meaning": (
        "That is a result, not a failure: either the {counted} form one group, or groups are too small or too close together to be told "
        "from chance and noise."
    ),
    "found.one.python": (
        "The same release can be divided into any number of segments, at no further cost: use clusters(k)."
    ),
    "found.one.command": (
        "The same release can be divided into any number of segments, at no further cost: dpm clusters {path} --k 5"
    ),
    "found.one.page": (
        "The same release can be divided into any number of segments, at no further cost: move the slider below."
    ),
    "found.one.report": (
        'What you can do with the same release: divide the {counted} into any number of <a href="#segments">segments</a> of similar '
        "{counted}, at no further cost of privacy. The slider below shows up to 20; <code>dpm clusters release.json --k 5</code> gives any "
        "number."
    ),
    "certainty.certain": "almost certain",
    "certainty.very_likely": "very likely",
    "certainty.likely": "likely",
    "certainty.possible": "possible",
    "certainty.doubtful": "doubtful",
    "certainty": "{verdict} ({percent})",
    "certainty.above": "over {percent}",
    "segments.title": plural(
        "One segment of about {rows} {counted}",
        "{n:,} segments of about {rows} {counted}, which explain {quality} of the variance",
    ),
    "segments.divided": plural(
        "The release holds a single cell: more segments are made by dividing it. How {counted} lie within it is a guess, without a measured silhouette.",
        "The release holds {n:,} cells: more segments are made by dividing cells. How {counted} lie within a cell is a guess, without a measured silhouette.",
    ),
    "segments.segment": "segment",
    "segments.share": "share",
    "segments.number": "segments",
    "segments.quality": "variance explained",
    "segments.silhouette": "silhouette",
    # What sets a cluster apart, and names
    "difference": "{name} {detail}",
    "difference.number": "{kind}: {own}, all {all}",
    "difference.higher": "higher",
    "difference.lower": "lower",
    "difference.higher.moment": "later",
    "difference.lower.moment": "earlier",
    "difference.category": "{category}: {own}, all {all}",
    "difference.above": "above {limit}: {own}, all {all}",
    "difference.up_to": "up to {limit}: {own}, all {all}",
    "name.higher": "high {name}",
    "name.lower": "low {name}",
    "name.higher.moment": "late {name}",
    "name.lower.moment": "early {name}",
    "name.range": "{name} {own}",
    "name.more": "{name} {category}",
    "name.more_often": "{name} more often {category}",
    "name.fewer": "{name} not {category}",
    "name.less_often": "{name} less often {category}",
    "name.and": ", ",
    "name.none": "cluster {cluster}",
    "list_item": "- {text}",
    "cluster.title": "Cluster {cluster}: {name}",
    "cluster.number": "Cluster {cluster}",
    "cluster.size": "{size} {counted}, {share} of all",
    "cluster.apart": "What sets it apart:",
    "cluster.not_apart": "No column is clearly higher or lower, and no category clearly more or less frequent, than in all rows.",
    "cluster.all_rows": "It is the only cluster and holds all {counted}, so nothing sets it apart.",
    "cluster.column": "column",
    "cluster.own": "middle half, or share",
    "cluster.share": "{share} ± {error}",
    "cluster.all": "all rows",
    "cluster.rules": "Where it lies in the tree:",
    "cluster.more_rules": plural("and one smaller part", "and {n:,} smaller parts"),
    # Rules of the tree; {at_most} is the sign, "<=" or "≤"
    "measured.interval": "95 %: {low} to {high}",
    "rule.between": "{low} < {column} {at_most} {high}",
    "rule.at_most": "{column} {at_most} {high}",
    "rule.more_than": "{column} > {low}",
    "rule.is": "{column} is {category}",
    "rule.is_not": "{column} is not {category}",
    "rule.and": " and ",
    "rule.everyone": "everyone",
    "rule.size": "about {size} {counted}",
    "rule": "{condition}: {size}",
    "tree.leaf": "{condition}: {cluster}",
    "tree.cluster": "cluster {cluster}, {size}",
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
    "statement.pld": "Epsilon was computed from the composed privacy loss of all draws, not from rho.",
    "statement.staged": (
        "Draws and their costs were decided step by step, from released values, within this total. Not used: {unspent} of it."
    ),
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
        "Suppose an attacker knows everything else about the table and wants to learn from the release whether this {unit} is in it."
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
    "forecast.warning": "Warning: {sentence}",
    "forecast.finds": (
        "Clusters of about {rows} {counted} ({share}) or more will be found if they are clearly apart from the others."
    ),
    "forecast.finds_nothing": "No cluster will be found, even if it holds half of all {rows} {counted}.",
    "forecast.makes": (
        "There will be {n} clusters, as requested; those of about {rows} {counted} ({share}) or more will stand out from the noise."
    ),
    "forecast.exact": "For a cluster of {rows} {counted} you will know, in 19 of 20 cases, {known}.",
    "forecast.median": "the median of a column to within ± {rank} percentiles",
    "forecast.category": "the share of a category to within ± {share} percentage points",
    "forecast.size": "its size to within ± {error}",
    "forecast.centre": "{centre} to within {error}",
    "forecast.mean": "its mean {name}",
    "forecast.geometric_mean": "its geometric mean {name}",
    "forecast.share": "its share of {name}",
    "forecast.percent": "± {error} %",
    "forecast.percentage_points": "± {error} percentage points",
    "forecast.points": "± {error} points",
    "forecast.more_columns": plural(
        "{listed} (and similarly for {n} more column)", "{listed} (and similarly for {n} more columns)"
    ),
    "forecast.and": "{listed}, and {last}",
    "forecast.better": (
        "With twice the epsilon, clusters of {epsilon_rows} {counted} ({epsilon_share}) or more would {seen}, and centres would be "
        "{epsilon_times} times as exact. With twice as many {counted}, it would be clusters of {rows_rows} ({rows_share}) or more, and "
        "centres {rows_times} times as exact."
    ),
    "forecast.better.found": "be found",
    "forecast.better.made": "stand out",
    "forecast.enough": plural("For {n} cluster, use {way}.", "For {n} clusters, use {way}."),
    "forecast.enough.epsilon": "an epsilon of about {epsilon}",
    "forecast.enough.rows": "about {rows} {counted}",
    "forecast.enough.or": "{one}, or {other}",
    "forecast.not_enough": "Neither a reasonable epsilon nor more {counted} would help much: use fewer columns, or expect fewer clusters.",
    "forecast.interval": "± is a 95 % interval for the difference between a released number and the exact one.",
    "forecast.shares": "Of the budget, {splits} goes to cuts, {counts} to sizes in the tree, {cells} to cells and {clusters} to clusters.",
    "forecast.shares.profiles": "Of the budget, {splits} goes to cuts, {counts} to sizes in the tree, {cells} to cells, {clusters} to clusters and {profiles} to profiles.",
    "forecast.row.quartile": "median of a column, percent of rank",
    "forecast.row.share": "share of a category",
    "forecast.head.asked": "as specified",
    "forecast.head.twice_epsilon": "twice the epsilon",
    "forecast.head.twice_rows": "twice the {counted}",
    "forecast.row.epsilon": "epsilon",
    "forecast.row.cluster": plural("size of the only cluster", "size of one of {n:,} clusters"),
    "forecast.row.smallest": "smallest cluster, about",
    "forecast.row.gap": "least gap between two halves, in standard deviations",
    "forecast.row.levels": "levels of cuts",
    "forecast.row.cells": "cells, about",
    "forecast.row.cell": "size of a cell",
    "found.limits": (
        "Clusters of about {rows} {counted} ({share}) or more, with nothing between them and the others, could have been found, and two halves "
        "whose centres are at least {gap} standard deviations apart."
    ),
    "found.no_limits": "Nothing could have been found: not even a cluster that holds half of all {rows} {counted}.",
    # What will not work, or promises little
    "doubt.nothing_found": (
        "with {rows} {counted} and this epsilon, not even a cluster of half of them would be found. Increase epsilon, or collect more {counted}."
    ),
    "doubt.few_rows": (
        "a cluster needs about {needed} {counted} to stand out from the noise, which is more than half of all {rows}. Increase epsilon, or "
        "collect more {counted}."
    ),
    "doubt.noise": "The result may be mostly noise: {sentence}",
    "doubt.fails": "This will not work: {sentence}",
    "doubt.small_clusters": (
        "Clusters of {rows} {counted} are too small to stand out reliably: about {needed} are needed. Expect fewer and larger "
        "clusters, or increase epsilon."
    ),
    "doubt.many_clusters": (
        "{clusters} clusters have about {rows} {counted} each, and about {needed} are needed to stand out from the noise: many of them would be "
        "noise. Ask for at most {most} clusters, increase epsilon, or collect more {counted}."
    ),
    "doubt.more_clusters_than_rows": (
        "{clusters} clusters are more than there are {counted} (about {rows}), and a cluster needs about {needed} to stand out from the noise. Ask for "
        "at most {most} clusters, increase epsilon, or collect more {counted}."
    ),
    "doubt.blurred_centres": (
        "the errors of the centres will exceed the width of the clusters ({columns}). Increase epsilon, use fewer columns, or "
        "collect more {counted}."
    ),
    "doubt.at_lower_bound": (
        "Nearly all values of column {column} lie at or below its lower bound, judging by the released centres. Check the bounds and the unit."
    ),
    "doubt.at_upper_bound": (
        "Nearly all values of column {column} lie at or above its upper bound, judging by the released centres. Check the bounds and the unit."
    ),
    "doubt.at_both_bounds": (
        "About {share} % of the values of column {column} lie at or beyond its bounds, judging by the released profiles. Unless these "
        "are limits by nature, such as a share of 1 or an amount of 0, widen the bounds to what is possible: clipped rows can look like clusters."
    ),
    "doubt.no_category": (
        "Hardly any value of column {column} is one of its declared categories, judging by the released shares. Check how they are "
        "written: upper and lower case are different."
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
    "plot.hierarchy.height": "square root of the share of variance",
    "plot.hierarchy.groups": plural(
        "number of {counted} in the only cell", "number of {counted} in {n} groups of cells"
    ),
    "plot.qualities.k": "number of segments",
    "plot.qualities.quality": "variance explained, percent",
    "plot.forecast.title": "A cluster of {rows} {counted} (dashed: {twice})",
    "plot.forecast.errors": "95 % of errors are below",
    "plot.forecast.epsilon": "epsilon",
    "plot.forecast.size": "size, percent of the cluster's size",
    "plot.forecast.centres": "centre: {columns}, percent of the range",
    "plot.forecast.shares": "share of {columns}, percentage points",
}

_REPORT: dict[str, Text] = {
    "report.title": plural("{n} cluster of about {rows} {counted}", "{n} clusters of about {rows} {counted}"),
    "report.title.one": "No separate clusters among about {rows} {counted}",
    "report.skip": "Skip to the report",
    "report.kicker": "Report on a differentially private release",
    "report.dark": "Dark mode",
    "report.light": "Light mode",
    "report.more_rules": "and {n} more rules",
    "report.cluster": "Cluster {cluster}",
    "report.cluster_size": "{size} {counted} ({share}), noise error {error}",
    "report.alarm": "NOT RELEASABLE",
    "report.alarm.seeded": (
        "This is a research run: its noise was drawn with a seed and can be removed, so it protects nobody. Do not publish this report "
        "or its release."
    ),
    "report.alarm.none": "No finite epsilon holds: this result is not private. Do not publish it.",
    "report.figure.clusters": "Clusters",
    "report.figure.error": "noise error {error}",
    "report.figure.columns": "Columns",
    "report.figure.explained": "Variance explained",
    "report.figure.silhouette": "Silhouette",
    "report.figure.epsilon": "Epsilon",
    "report.figure.delta": "delta {delta}",
    "report.contents": "Contents",
    "report.contents.overview": "Overview",
    "report.contents.statement": "Guarantee",
    "report.contents.clusters": "Clusters",
    "report.contents.segments": "Segments",
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
    "report.clusters.one": "Distributions",
    "report.clusters.text": (
        "Largest first, numbered from 0 like the labels returned by <code>predict</code>. In colour: the cluster; in grey: all {counted}."
    ),
    "report.clusters.noise": (
        "Ranges hold the middle half and show how much the {counted} differ. A <em>noise error</em> is something else: the standard error "
        "of the noise added for privacy. Two thirds of the numbers are off by less than that, and 95 % by less than twice as much. Averages in skewed columns may be off "
        "by more, because {counted} far from a centre pull at it up to a limit only."
    ),
    "report.clusters.rows": "Sizes count rows, not people.",
    "report.clusters.numbers": "The numbers of all columns are in centres.csv.",
    "report.clusters.part": (
        "Showing {clusters} of {all_clusters} clusters and {columns} of {all_columns} columns, those with the most cuts. The release "
        "contains all of them."
    ),
    "report.clusters.certainty.text": (
        "How sure it is that a cluster is apart from the others, and not a part of one of them, accounts for noise, chance and the number "
        "of places that were looked at."
    ),
    "report.card.error": "(noise error {error})",
    "report.card.certainty": "Separate: {certainty}",
    "report.card.mean": "{own} on average, all {every}",
    "report.card.half": "middle half: {own}",
    "report.card.histogram": "Histogram of {column}",
    "report.card.nothing": "No column is clearly higher or lower, and no category clearly more or less frequent, than in all rows.",
    "report.card.rule": plural("Rule", "Rules ({n})"),
    "report.card.numbers": "All columns",
    "report.card.column": "Column",
    "report.card.middle_half": "Middle half",
    "report.card.mean_head": "Mean or share",
    "report.card.noise_error": "Noise error",
    # The overview
    "report.overview": "Overview",
    "report.overview.caption": "Every column in all rows and in every cluster",
    "report.overview.column": "Column",
    "report.overview.all": "All {counted}",
    "report.overview.quartiles": (
        "Medians, and the range of the middle half of the {counted} where there is room; categories as shares. Numbers have as many digits as the "
        "noise leaves."
    ),
    "report.overview.missing.drop": "Rows with a missing value were left out, so no number here is about them.",
    "report.overview.missing.middle": (
        "A missing value counts as the middle of its column's bounds, as no where the answer is yes or no, and as “other” among categories. "
        "Medians, ranges and shares include these values."
    ),
    "report.overview.means": "Means, and shares of categories, with as many digits as the noise leaves.",
    "report.overview.shades": (
        "Shading: how far the mean of a cluster is from that of all {counted}, in steps of 0.2, 0.5, 1 and 1.5 standard deviations. What "
        "noise could have made is not shaded."
    ),
    "report.overview.strips": (
        "Medians and shares of all {counted}, and a strip of all clusters, from 0 on the left to {n} on the right. Their numbers are on "
        "their cards."
    ),
    "report.overview.strips.means": (
        "Means and shares of all {counted}, and a strip of all clusters, from 0 on the left to {n} on the right. Their numbers are on "
        "their cards."
    ),
    "report.overview.printed": "Printed: {printed} of {n:,} columns, those that differ most.",
    "report.overview.lower": "lower",
    "report.overview.higher": "higher than all",
    "report.overview.highest": "highest in {clusters}",
    "report.overview.lowest": "lowest in {clusters}",
    "report.overview.level": "much the same everywhere",
    # Segments
    "report.segments": "Any number of segments",
    "report.segments.text": (
        "The release holds {cells} cells: small groups of {counted} with noisy sizes and centres. They can be merged, or divided, into any number of "
        "segments without spending more of the budget. Segments divide the {counted} into similar groups; that does not mean that these "
        "are apart from each other."
    ),
    "report.segments.number": "Number of segments",
    "report.segments.caption": "Size, share and centre of every segment",
    "report.segments.curve": "Variance explained by each number of segments",
    "report.segments.curve.text": (
        "How much of the variance the segments explain, estimated from released values, with a whisker of one noise error. More "
        "segments always explain more; where the curve becomes flat, more of them say little. What parts of divided cells explain is not known."
    ),
    "report.segments.quality": plural(
        "{n} segment, all rows together, explains none of the variance",
        "{n} segments explain {quality} of the variance (noise error {error})",
    ),
    "report.segments.silhouette": "Silhouette: {silhouette} ({interval}).",
    "report.segments.more": "How good {first} to {last} segments are",
    "report.segments.more.text": (
        "Variance explained, with its noise error, and the silhouette, with its interval. The silhouettes of more than {few} segments were measured with more noise."
    ),
    "report.segments.part": "Showing {columns} of {all_columns} columns.",
    "report.segments.command": "For more segments, or for machines: <code>dpm clusters release.json --k {k} --json</code>",
    # Rules
    "report.rules.none": "No rule: it shares its parts of the tree with larger clusters.",
    "report.rules.others": plural("and {n} smaller part", "and {n} smaller parts"),
    # Map of cuts
    "report.map": "Map of cuts",
    "report.map.text": (
        "The parts between the cuts are drawn as boxes in the colour of their cluster, two columns at a time. Centres are markers whose "
        "area shows the size of the cluster, with whiskers of one noise error."
    ),
    "report.map.overlap": "Boxes that are separated in other columns overlap.",
    "report.map.value": "{value} on average (noise error {error})",
    "report.map.across": "horizontal",
    "report.map.upwards": "vertical",
    "report.map.plot": "Boxes between the cuts, and the centres of the clusters",
    "report.map.reach": "Hover over a marker or a box, or move between markers with Tab and the arrow keys.",
    "report.map.scales": "The axes span the public bounds.",
    # The tree
    "report.tree": "The tree of cuts",
    "report.tree.text": (
        "Cuts were selected privately, one after the other. Parts in which all cells belong to one cluster are drawn as one."
    ),
    "report.tree.one_cluster": "There is one cluster, so no cut separates anything.",
    "report.tree.open": "expand all",
    "report.tree.close": "collapse all",
    "report.tree.root": "All {counted}",
    "report.tree.cut": "cut along <bdi>{column}</bdi>",
    "report.tree.cluster": "cluster",
    # The ledger
    "report.ledger": "The ledger",
    "report.ledger.text": (
        "Everything in the release that was computed from the rows was drawn with noise, and recorded here before it was drawn."
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
        "With <code>--budget budget.json</code>, the data holder can also check it against the account. Only the publisher can confirm "
        "that the values were drawn as the ledger says; a signature on the digest shows who that is."
    ),
    "report.print": (
        "Not printed: the tree of cuts, every draw of the ledger, the public inputs and the numbers of every card. They are in report.html "
        "and release.json."
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
    "notebook.certainty": "separate?",
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

_VERIFICATION: dict[str, Text] = {
    "verdict.holds": "The release is consistent: {passed} checks passed. {open} statements cannot be checked and must be trusted.",
    "verdict.fails": "Do not rely on this file: {failed} of {all} checks failed.",
    # What a check that passes has shown
    "verify.form": "all fields of a release are present, and no others",
    "verify.digest": "it matches the content",
    "verify.parameters": "they are valid",
    "verify.statement": "it follows from the parameters",
    "verify.ledger": "its draws match the plan",
    "verify.price": "noise, costs, rho, epsilon and delta are consistent",
    "verify.tree": "its cuts are within the bounds and its levels",
    "verify.sizes": "they add up, within their errors",
    "verify.centres": "they are within the bounds",
    "verify.cells": "they match the tree",
    "verify.rule": "it divides rows into these clusters",
    "verify.profiles": "they describe these clusters, and add up within their errors",
    "verify.account": "before, charge and after add up, within the total",
    "verify.budget": "the account was charged for exactly this release",
    # What no check can show
    "verify.open.account": "no budget was charged, so there is no account of this data set",
    "verify.open.noise": "only the publisher can confirm that the values were drawn from the rows, as the ledger says",
    "verify.open.errors": (
        "only the publisher can confirm the standard errors of sizes, centres and the explained variance, and the certainty of clusters"
    ),
    "verify.open.origin": (
        "only the publisher can confirm the day, name of the data set, version and number of earlier fits"
    ),
    "verify.open.origin.charged": "only the publisher can confirm the day, version and number of earlier fits",
    "verify.open.bounds": "only the publisher can confirm that bounds and categories were public knowledge",
    # Why a check fails
    "fault.sentence": "{sentence}",
    "fault.digest": "the digest in the file does not match its content",
    "fault.parameters": "the parameters are not valid parameters of DPM",
    "fault.rule": "a parameter breaks its rule: {error}",
    "fault.plan": "no plan can be made with these parameters",
    "fault.stated": "the parameters are not written in the way a run writes them",
    "fault.statement": "{field} of the statement does not follow from the parameters",
    "fault.rho": "'rho' of the statement is present without zCDP, or missing",
    "fault.levels": "the tree has more levels than 'max_depth' = {max_depth}",
    "fault.leaf_with_parts": "a part of the tree that is not cut names a column or parts of its own",
    "fault.cluster_of_node": "a part of the tree that is cut has a cluster, or one that is not cut has none",
    "fault.leaf_with_cut": "a part of the tree that is not cut has a threshold",
    "fault.cluster_without_part": "a cluster has no part of the tree, although clusters are made of these",
    "fault.cut_outside": "a cut is outside the bounds of its column, or outside its part of the table",
    "fault.sizes_of_parts": "the sizes of two parts of the tree do not add up to the part that was cut",
    "fault.order": "the clusters are not sorted by size",
    "fault.sizes": "the sizes of the clusters do not add up to the size of the tree, within their errors",
    "fault.n_clusters": "there are {found} clusters, but 'n_clusters' is {asked}",
    "fault.more_clusters": "there are {found} clusters, more than 'n_clusters' = {asked}",
    "fault.shares": "the shares of the categories of {column} do not add up to one",
    "fault.cells": "there are no cells, or the paper's variant has some",
    "fault.cell_sizes": "the sizes of the cells do not add up to the size of the tree, within their errors",
    "fault.partition": (
        "there is a rule or a certainty for clusters that were not looked for, or none for those that were"
    ),
    "fault.partition_clusters": "the rule does not have as many clusters as there are",
    "fault.profiles": "there are profiles and quality figures although nobody asked for them, or they are missing",
    "fault.profiles_of": "the profiles do not have these clusters and columns",
    "fault.profile_sizes": "the profiles of a column do not add up to the size of the tree, within their errors",
    "fault.not_charged": "the account was not charged the {cost} of the release",
    "fault.overdrawn": "the account is overdrawn: its {cost} is more than its total",
    "fault.unpaid": "the budget file has no charge for a release with this digest",
    "fault.paid_twice": "the budget file has several charges for this digest",
    "fault.paid_for_another_unit": "the budget file was charged for another unit of privacy",
    "fault.another_data_set": "the budget file belongs to a data set with another name",
    "fault.another_account": "the account in the release does not match the budget file",
}

_COMMAND_LINE: dict[str, Text] = {
    "table.cluster": "cluster",
    "table.certainty": "separate?",
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
        **_VERIFICATION,
        **_COMMAND_LINE,
    },
)
