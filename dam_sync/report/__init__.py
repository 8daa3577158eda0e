"""Reports and progress for people: given plain data, they give text; nothing here knows the rest of the house."""
