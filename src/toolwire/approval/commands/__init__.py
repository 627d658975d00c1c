"""What a shell command line really runs: read with a shell parser (`shell`), judged by what is known of programs."""
