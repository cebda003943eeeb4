"""Exact integer statistics of rows: a plain reference and a compiled version with equal signatures.

Everything here is exact and must not leave except through the door.
"""
