"""HTTP clients with transports of a test's own, and servers on sockets of this host."""
