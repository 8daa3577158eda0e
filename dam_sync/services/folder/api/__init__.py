"""Access to the folder: files by safe paths, and the catalogue."""
