"""What differs of an asset, and whose doing it is: parts, what the target may hold, and their comparison.

Everything here is pure, and imports `model` and `mapping` only. Reading an asset of the target, the state and the
journal belongs to the callers; what follows from a comparison, too.
"""
