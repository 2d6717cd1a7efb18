"""All effects: files, processes, HTTP, the machine, the nginx binary and its trials."""
