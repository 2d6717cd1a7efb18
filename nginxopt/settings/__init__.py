"""What the user of all commands decides: settings files, the target version, paths to leave out, premises.

`file` reads them; each command completes them with its options.
"""
