"""Growing a tree of cuts, making its counts consistent, and keeping the result."""
