"""Colours and marks of clusters, the same in the report and in pictures.

The twelve colours were searched for by computer: the two that are most alike are as different as possible, to people with
and without each kind of colour blindness, and all stand out from the paper by a contrast of at least 3.4 to 1. From the
thirteenth cluster on they come again, with another dash and another shape; pictures also carry the number.
"""

from __future__ import annotations

__all__ = ["DARK", "DASHES", "LIGHT", "N_LOOKS", "SMALL_SHAPES", "css", "look_of", "shape_path", "small_marks"]

LIGHT = (
    "#4961c2", "#864900", "#009286", "#9e1855", "#869224", "#551861",
    "#ce6d61", "#003d31", "#b66db6", "#616186", "#79000c", "#615531",
)  # fmt: skip
"""On white paper."""

DARK = (
    "#1f84e8", "#f3aa55", "#49f3ff", "#cc609c", "#8f8f14", "#ce92f3",
    "#e76d55", "#3db66d", "#c2e786", "#929ec2", "#a67474", "#f3dbb6",
)  # fmt: skip
"""On dark paper."""

DASHES = ("", "7 3", "2 3", "9 3 2 3")
"""Dashes of lines, in the language of SVG."""

SMALL_SHAPES = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "m-4 -4h8v8h-8z",
    "m0 -5.6l5.6 5.6l-5.6 5.6l-5.6 -5.6z",
    "m0 -6.5l5.6 9.7h-11.2z",
)
"""Outlines of small marks around wherever the pen is, as steps in the language of SVG paths."""

N_LOOKS = len(LIGHT) * len(DASHES)
"""Number of clusters that look different."""


def look_of(cluster: int) -> tuple[int, int]:
    """Return the number of the colour of a cluster, and that of its dash and shape."""
    return cluster % len(LIGHT), cluster // len(LIGHT) % len(DASHES)


def css() -> str:
    """Return style rules that give clusters their colour, dash and small marks by their classes, on light and dark paper."""
    light = "".join(f".c{i}{{--c:{colour}}}" for i, colour in enumerate(LIGHT))
    by_choice = "".join(f":root[data-theme=dark] .c{i}{{--c:{colour}}}" for i, colour in enumerate(DARK))
    by_system = "".join(f":root:not([data-theme=light]) .c{i}{{--c:{colour}}}" for i, colour in enumerate(DARK))
    dashes = "".join(f".d{i}{{--dash:{dash or 'none'}}}" for i, dash in enumerate(DASHES))
    looks = [(colour, shape) for shape in range(len(DASHES)) for colour in range(len(LIGHT))]
    marks = "".join(f".c{colour}.d{shape} .way{{marker:url(#m{colour}-{shape})}}" for colour, shape in looks)
    dark = f"@media screen{{{by_choice}}}\n@media screen and (prefers-color-scheme:dark){{{by_system}}}"
    return f"{light}\n{dashes}\n{marks}\n{dark}\n"


def small_marks(n_clusters: int) -> list[tuple[int, int, str]]:
    """Return the small marks that so many clusters use: numbers of colour and shape, and the outline."""
    used = sorted({look_of(cluster) for cluster in range(min(n_clusters, N_LOOKS))})
    return [(colour, shape, SMALL_SHAPES[shape]) for colour, shape in used]


def shape_path(shape: int, radius: float) -> str:
    """Return the outline of a mark around the origin, as an SVG path: circle, square, diamond or triangle of equal area."""
    r = radius
    if shape == 0:
        return f"M{-r:.1f} 0a{r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0a{r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0Z"
    if shape == 1:
        s = 0.886 * r
        return f"M{-s:.1f} {-s:.1f}H{s:.1f}V{s:.1f}H{-s:.1f}Z"
    if shape == 2:
        s = 1.253 * r
        return f"M0 {-s:.1f}L{s:.1f} 0L0 {s:.1f}L{-s:.1f} 0Z"
    s = 1.347 * r
    return f"M0 {-1.155 * s:.1f}L{s:.1f} {0.577 * s:.1f}H{-s:.1f}Z"
