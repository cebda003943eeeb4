"""Whether a release contradicts itself, the rules of this package, or the account of its data set: see `verify`."""

from __future__ import annotations

from dpmondrian.release.verification.checks import Check, Verification, refused, verify

__all__ = ["Check", "Verification", "refused", "verify"]
