complete --keep-order --exclusive --command mcp-tap --arguments "(MCP_TAP_COMPLETE=fish mcp-tap -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
