"""What makes the load: vegeta, or wrk."""
