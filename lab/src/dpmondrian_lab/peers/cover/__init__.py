"""Max cover by the exponential mechanism: the mechanism of EM-MC, and what published code makes of it."""
