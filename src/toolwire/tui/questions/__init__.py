"""The questions at the screen: about a call, from the model itself, from a server's form. Nothing is yes by itself."""
