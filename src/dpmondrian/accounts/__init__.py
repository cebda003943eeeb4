"""Who pays: budget files, checkpoints, and what a fit spends."""
