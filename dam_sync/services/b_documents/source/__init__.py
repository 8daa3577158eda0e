"""Service B as a source: documents with their versions, files, published copies."""
