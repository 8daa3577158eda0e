"""placeholder"""

TESTS: frozenset[str] = frozenset()
