"""Colours and marks of clusters, the same in the report and in pictures.

The twelve colours were searched for by computer: the two that are most alike are as different as possible, to people with
and without each kind of colour blindness, and all stand out from the paper by a contrast of at least 3.4 to 1. From the
thirteenth cluster on they come again, with another shape; pictures also carry the number.
"""

from __future__ import annotations

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

_N_SHAPES = 4


def look_of(cluster: int) -> tuple[int, int]:
    """Return the number of the colour of a cluster, and that of its shape."""
    return cluster % len(LIGHT), cluster // len(LIGHT) % _N_SHAPES


def css() -> str:
    """Return style rules that give clusters their colour by their classes, on light and dark paper."""
    light = "".join(f".c{i}{{--c:{colour}}}" for i, colour in enumerate(LIGHT))
    by_choice = "".join(f":root[data-theme=dark] .c{i}{{--c:{colour}}}" for i, colour in enumerate(DARK))
    by_system = "".join(f":root:not([data-theme=light]) .c{i}{{--c:{colour}}}" for i, colour in enumerate(DARK))
    dark = f"@media screen{{{by_choice}}}\n@media screen and (prefers-color-scheme:dark){{{by_system}}}"
    return f"{light}\n{dark}\n"


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
