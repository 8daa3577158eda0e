"""A run from listing to report: the pipeline, its passes over many assets, and adoption."""
