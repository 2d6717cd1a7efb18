"""The kinds of lists that are compiled."""
