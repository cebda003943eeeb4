"""What a run may cost (plan), what it did cost (ledger), and how that is said (statement)."""
