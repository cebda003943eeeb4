"""Invented tables for the demo, the examples and the tests."""
