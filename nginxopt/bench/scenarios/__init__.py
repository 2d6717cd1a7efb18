"""The scenarios, one module each with a `SCENARIO`. Modules are discovered; there is no list.

Input is `ScenarioSettings`; output is an `Experiment`.
"""
