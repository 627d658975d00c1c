"""MCP both ways: any server's tools as Toolwire tools, and Toolwire's tools as a server. Needs `toolwire[mcp]`.

A server is somebody else's program. It is started only with the person's consent, sees only what it is given, says
nothing that is believed (its descriptions are text, its hints never make a tool harmless), and can harm nobody but
itself: what it sends is bounded, and each server has a connection of its own.

    config ─files, consent→ ServerConfig ─stdio | http→ Connection ─definitions, names, pins→ ToolDefinition
    ToolDefinition.call ─Connection→ the server ─content→ ToolOutput
    what a server asks for (a model's answer, a person's words) ─requests→ the gate ─Host→ the agent
"""
