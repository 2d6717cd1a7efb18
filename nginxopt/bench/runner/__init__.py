"""Where the nginx of an experiment run: on this machine, or in containers."""
