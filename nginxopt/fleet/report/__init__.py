"""Reports about a fleet: `facts` queries a result, `drift` and `since` compare, and each format has a module."""
