"""What may be published: the release, its tree and statement, and whether it is true."""
