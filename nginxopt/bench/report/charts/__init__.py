"""The charts of a report: growth with the number of rules, ratios with their intervals, and latency distributions.

Each chart is a row of panels, one per case or comparison, with common scales. Colours are CSS variables of the page
(`--baseline`, `--series-0` ...). Lines also differ in dashes and points in shapes, for paper and colour-blind readers.
"""
