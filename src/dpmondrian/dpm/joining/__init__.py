"""Which leaves belong together: rows counted between them, and the hierarchy of clusters that follows."""
