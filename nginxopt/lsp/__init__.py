"""`nginxopt lsp`: the language server, which checks configurations in an editor.

Input is the messages of an editor (Language Server Protocol 3.17) with unsaved texts; output is diagnostics, code
actions, hovers, completions and locations. A `Workspace` holds the open documents and the configurations that include
them. Each capability is a module that answers requests from the workspace, and `server` connects the modules to pygls.
"""
