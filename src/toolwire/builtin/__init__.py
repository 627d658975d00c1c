"""The tools that an agent needs on day one: files, search, commands, pages, questions, a list of what to do."""
