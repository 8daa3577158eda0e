"""Reading: listings, assets, files."""
