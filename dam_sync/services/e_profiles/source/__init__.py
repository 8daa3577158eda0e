"""Service E as a source: listings, assets with their versions, files."""
