"""Who pays: budget files, checkpoints, and what a fit spends."""

from __future__ import annotations

from dpmondrian.accounts.budget import Budget, BudgetState
from dpmondrian.accounts.checkpoint import Checkpoint
from dpmondrian.accounts.spending import Spending, open_journal, run_facts

__all__ = ["Budget", "BudgetState", "Checkpoint", "Spending", "open_journal", "run_facts"]
