"""Clients compared over HTTP: one server, each client in a process of its own, and only its processor time counts."""

WORDS = """
A server on the loopback, a process of its own, sends answers that were built beforehand as fast as they are read, each
event as an HTTP chunk of its own. Every client runs alone in a fresh process: one answer to get warm, then three to
fifteen by the clock (processor time of the client's process, the garbage collector on), and the least counts; the
floor and Toolwire get three such processes. An event is one that the provider sends. The SDKs are used as their
manuals show, with their blocking clients, which cost less than their asynchronous ones; the frameworks live in an
environment of their own (`requirements/peers.txt`).

"Text" is 5,000 deltas of text; "calls" is three calls with 20 kB of arguments each, 1,500 deltas in all. Ollama sends
arguments whole: there the deltas are of the thoughts before the calls.

The floor reads a blocking socket, takes HTTP's chunks apart, splits and parses each payload with `orjson`, and keeps
nothing. "toolwire over HTTP" is all of its way: the asynchronous transport with its time-outs, framing, chunks, calls,
segments, invocations. Deltas of one segment that come in one read leave Toolwire as one event, which a fast server
makes the most of; the row of one event a read shows what a slow one, that is any real model, leaves of that.
"""
