"""What a user decides for all commands: settings, the target version, paths to skip, premises.

`file` reads them; each command completes them with its options.
"""
