"""The scenarios: one module each, with a `SCENARIO`. What is here is offered; nothing else lists them."""
