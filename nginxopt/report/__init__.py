"""What linting found, in the formats that people and servers read."""
