"""Commands that need emulated services: demo, emulate, rehearse."""
