"""What people read: words, reports, displays, pictures."""
