"""The steps of the page, one module each. A step is a function from a request to a page."""

from __future__ import annotations

from dpmondrian.web.steps import account, bounds, columns, file, plan, result, run

__all__ = ["account", "bounds", "columns", "file", "plan", "result", "run"]
