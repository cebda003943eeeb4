"""Where rows live and how they answer: each engine adds up the same integers over its rows."""
