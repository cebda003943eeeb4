"""Measurements against scikit-learn's KMeans in the same run. Not part of the package."""
