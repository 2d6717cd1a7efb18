//! The border to Python: one file a subject, which converts and nothing else.
