"""The conversation of a person with an agent, without a screen: what may change on the way, and what is typed."""
