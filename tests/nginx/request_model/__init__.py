"""What nginx does with a request, as experiments: the table and the statements of the model, each asked of nginx."""
