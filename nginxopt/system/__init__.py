"""Side effects: files, processes, HTTP, the host, and nginx."""
