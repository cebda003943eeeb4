"""The algorithm: settings, plan, tree, scores, centres, joining."""
