set edit:completion:arg-completer[mcp-tap] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) MCP_TAP_COMPLETE="elvish" mcp-tap -- $@words) | to-lines
}
