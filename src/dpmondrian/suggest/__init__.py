"""Bounds of columns, estimated privately."""
