"""The terminal chat, in Textual. Each thing on the screen has a module; what it shows comes from `toolwire.chat`."""
