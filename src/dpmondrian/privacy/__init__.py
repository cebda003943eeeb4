"""The door, and everything behind it: plan, ledger, accountants, mechanisms."""
