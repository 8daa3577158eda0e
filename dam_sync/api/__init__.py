"""The composition root: puts a job together from its parts; the only room that knows everybody."""
