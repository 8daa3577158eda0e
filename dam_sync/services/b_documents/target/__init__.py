"""Service B as a target: documents are created once, changed, and given permissions."""
