"""Figures from rows, PNG and SVG."""
