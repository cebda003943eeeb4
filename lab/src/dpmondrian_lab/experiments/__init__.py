"""Experiments as data: a specification goes in, rows come out, and raw centres are kept beside them."""
