def rows(count, seed): return iter(())
