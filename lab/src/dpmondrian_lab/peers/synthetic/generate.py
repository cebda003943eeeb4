"""Run by the environment's own Python: ``python generate.py FOLDER`` reads codes.npy and request.json, and writes synthetic.npy.

The models of dpmm are used without its preprocessing, which looks at exact values: it drops columns that hold one value and puts
the value of some row in place of missing ones. Codes and their number per column are given instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_STEPS, _STEPS_OF_ROUND = 500, 100
"""Steps of the estimation from released marginals, and in every round of AIM, which begins where the last one ended.

dpmm takes up to 5,000 and 1,000. More steps of MST did not change the inertia, see ``docs/privacy/peers.md``; AIM's were not compared.
"""
_LARGEST_MODEL = 1.0
"""MiB of AIM's model; with 80, the default of its class, a fit can take many hours, as its authors say."""


def generate(codes: np.ndarray[Any, Any], request: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return as many synthetic rows of codes as the model believes there are: a released number, too."""
    import pandas

    names = [f"x{number}" for number in range(codes.shape[1])]
    model = _model(request)
    model.set_domain(dict(zip(names, request["n_codes"], strict=True)))
    model.fit(pandas.DataFrame(codes, columns=names))
    n_rows = max(1, int(model.generator.model.total))
    return np.asarray(model.generate(n_records=n_rows)[names].to_numpy(), dtype=np.int64)


def _model(request: dict[str, Any]) -> Any:
    aim, mst, mechanism = (import_module(f"dpmm.models.{name}") for name in ("aim", "mst", "base.mechanisms.mechanism"))
    for module, most in ((aim, _STEPS_OF_ROUND), (mst, _STEPS), (mechanism, _STEPS)):
        vars(module)["FactoredInference"] = _shorter(vars(module)["FactoredInference"], most)
    given = {
        "epsilon": request["epsilon"],
        "delta": request["delta"],
        "random_state": np.random.RandomState(request["seed"]),
        "n_jobs": 1,
    }
    if request["generator"] == "aim":
        return aim.AIMGM(**given, max_model_size=_LARGEST_MODEL)
    return mst.MSTGM(**given)


def _shorter(inference: Callable[..., Any], most: int) -> Callable[..., Any]:
    """Return an estimation from released marginals that takes at most so many steps."""

    def shorter(domain: Any, iters: int = most, **options: Any) -> Any:
        return inference(domain, iters=min(iters, most), **options)

    return shorter


def main(folder: Path) -> None:
    """Answer the request in a folder."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    np.save(folder / "synthetic.npy", generate(np.load(folder / "codes.npy"), request))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
