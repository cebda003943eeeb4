"""The ``dpm`` command. One file per subcommand, which parses, calls and prints; heavy imports are inside."""
