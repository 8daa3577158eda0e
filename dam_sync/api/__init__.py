"""The composition root: assembles a job from its parts; the only package that knows all others."""
