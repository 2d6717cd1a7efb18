"""`nginxopt mcp`: tools for assistants (Model Context Protocol), which read configurations below named directories.

Each tool is a command of nginxopt that writes nothing, run in a process of its own, so that its budgets hold for each
call. `commands` runs them, `server` offers them.
"""
