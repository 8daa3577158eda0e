"""Enumerating a library: pagers and partitions as values, one paging loop; imports `model` only."""
