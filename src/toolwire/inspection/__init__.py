"""What came over the wire beside what it became: frames, their events, and what is odd about them. For debugging."""
