"""One wire format each, both pure halves: frames into chunks, a conversation with tools into a request."""
