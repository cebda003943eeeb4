"""What to expect of a run, from public numbers alone; `dpmondrian.plan` holds the names for users."""
