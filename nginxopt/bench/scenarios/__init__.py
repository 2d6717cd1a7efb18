"""The scenarios. Each module that defines a `SCENARIO` is discovered; there is no list.

Input is `ScenarioSettings`; output is an `Experiment`.
"""
