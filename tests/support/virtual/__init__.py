"""One process, virtual time: the real engine, adapters and emulators with only the clock, the sockets and the threads
replaced. A seed decides everything that is chance, so it reproduces its run exactly."""
