"""What several rooms of the laboratory use."""
