"""`nginxopt lsp`: the language server, which checks configurations in an editor.

Input is the messages of an editor (Language Server Protocol 3.17) with unsaved texts; output is diagnostics, code
actions, hovers, completions and places. `Workspace` has the documents and the configurations that they are part of;
each capability is a module that answers from it; `server` connects them with pygls.
"""
