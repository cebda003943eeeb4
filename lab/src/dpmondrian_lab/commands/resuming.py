"""Commands that take long, and keep what is finished when they are stopped."""

from __future__ import annotations

from functools import partial

from dpmondrian.cli.stopping import stoppable

__all__ = ["resumable"]

resumable = partial(stoppable, sentence="Stopped. What is finished is kept; the same command goes on from here.")
"""Decorator of a command that goes on, when it is given again, where it was stopped."""
