"""What is public about a table: columns, coordinates, schema files."""
