"""Whether a release contradicts itself, the rules of this package, or the account of its data set: see `verify`."""

from __future__ import annotations

from dpmondrian.release.verification.checks import Check, Verification, refused, settings_of, verify
from dpmondrian.release.verification.shape import Fault

__all__ = ["Check", "Fault", "Verification", "refused", "settings_of", "verify"]
