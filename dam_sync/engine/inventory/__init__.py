"""The inventory of one library: reading a sample or all of it, and counting within bounded memory."""
