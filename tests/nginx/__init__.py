"""What only a real nginx can tell: every test here runs the binary."""
