"""What a folder is: limits of file systems, and what it holds of the neutral model."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from dam_sync.model.capabilities import YES, Capabilities, Feature, Support
from dam_sync.model.costs import Costs
from dam_sync.model.limits import Limits, OrphanRetention, Pace, SmallFile

NAME = "folder"
FILENAME_BYTES = 200  # of a name on disk; common file systems take 255
LIMITS = Limits(
    page=200,
    pace=Pace(at_once=8, storage_at_once=4),
    precision=timedelta(milliseconds=1),
    lag=timedelta(0),
    small_file=SmallFile(downloads=0),
    enumerates_all=True,
)
_NAMED = "the record of every asset contains the name"
LESS = {
    Feature.MACHINE_TAGS: Support("yes", "", "no draft carries them"),
    Feature.LINKS: Support("yes", "", "no draft carries them"),
    Feature.CLOSED: Support(why="it has no users"),
    Feature.RENAMED_TERMS: Support("yes", "", _NAMED),
    Feature.RENAMED_CONTAINERS: Support("if the catalogue gives them ids", "", _NAMED),
    Feature.MOVED_CONTAINERS: Support("if the catalogue gives them ids", "", _NAMED),
}
FEATURES: Mapping[Feature, Support] = {feature: LESS.get(feature, YES) for feature in Feature}
COSTS: Costs = ()  # files are no API calls
CAPABILITIES = Capabilities(features=FEATURES, limits=LIMITS, costs=COSTS)
KEPT = timedelta(days=1)
LEAVES = (OrphanRetention("a half-written file in `.dam-sync/tmp`", KEPT, "Folder: removed by a later run"),)
CONTAINERS = frozenset({"folder", "category", "collection", "section", "label"})
CREATED = "created"  # the field that takes the date of creation
SOURCE_KEY = "source_key"  # the field for the marker
