"""Service A: a hypermedia DAM; its links say where to go, forms say what a media can hold."""
