"""Maps with regular expressions that become trees."""
