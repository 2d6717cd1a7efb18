"""What a result says of a fleet: `facts` asks it, `drift` and `since` compare, and each format has a module."""
