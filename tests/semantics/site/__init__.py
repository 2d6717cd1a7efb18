"""The lowering of configurations to sites."""
