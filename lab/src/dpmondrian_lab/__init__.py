"""The laboratory of dpmondrian: peers, audit, data sets, experiments, pages of results, benchmarks."""
