"""The kinds of lists that rewrite-to-map compiles, a package each: what nginx tries in sequence becomes a lookup.

All kinds share one protocol, `Kind` in `kind`:

- **plan**: which lists get a new form, and why the others stay (`planning`). `reading` reads their statements, for the
  plan and for the proof, which share nothing else;
- **edits**: the changed statements, and the maps for the http block (`planning`, too);
- **prove**: whether every request is answered as before. `proof` reads the emitted text again; it imports nothing of
  `planning`, which imports nothing of it. `differential` asks a real nginx;
- **count**: the patterns tried before and after, the lines of the summary and the entries of the JSON report.

A `Kind` keeps no state: `nginxopt.rewrite.compilation.Plan` has the plan of each kind, and `plan`, `emit`, `prove`, the
summary and the report go over the kinds of `registry`.

To add a kind of list:

1. Write a package beside the others. Its `planning` has the plan, a `ListsPlan`; its `kind` has a class derived from
   `Kind` and one instance of it. The docstring of each method says what it returns; methods without a default are
   required.
2. Add the instance to `KINDS` in `registry`. Its place is that in the summary, the file of maps and the report.
3. Name the package in `pyproject.toml`, what it asks of the native core in `tests/project/test_layers.py`, its reasons
   in `docs/guide/rewrite-to-map.md` (with a test in `tests/project/test_docs.py`, whose limit for the modules of a
   rewrite grows by those of the package), and in `schemas/rewrite-report.json` its entry of the report and its count in
   `proof`; tests compare these.
4. Write its tests in `tests/rewrite/kinds/NAME/`, with faults that the proof refutes, and in `tests/nginx/`. The
   smallest kind is that of `tests/rewrite/kinds/test_registry.py`.
"""
