"""The provider `local`: a small model inside this machine, served on loopback as any OpenAI-compatible server would be.

`weights` gets the model's file once, `engine` runs it in a child process, and `shaping` turns an ordinary request into
one that a model of 135 million parameters can handle. No key, no account, no network once the weights are there.
It is enough to see everything work; it is not a model to think with.
"""
