"""How costs of draws become an epsilon."""
