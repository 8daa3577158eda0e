"""Removes at the target what left the source: assets, to the trash only, and parts of assets."""
