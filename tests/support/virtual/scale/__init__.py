"""Libraries, services and states of any size, in virtual time."""
