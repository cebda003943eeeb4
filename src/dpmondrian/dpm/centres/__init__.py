"""Where clusters are: noisy sums of their rows, turned into centres. And merging leaves into k clusters."""
