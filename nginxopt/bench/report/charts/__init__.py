"""The charts of a report: growth with the number of rules, ratios with their intervals, and latency distributions.

Each is a row of panels, one per case or comparison, with common scales. Colours are variables of the page
(`--baseline`, `--series-0` ...); lines also differ in dashes and points in shapes, for paper and colour-blind readers.
"""
