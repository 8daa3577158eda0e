"""Responses of service E as its wire contract shows them (wire E 1, 3.1)."""

from __future__ import annotations

import json
from typing import Any

ASSET: dict[str, Any] = json.loads("""
{"id": "2405adb8-fe72-4bec-a47e-0ef3e27fd0b7", "external_id": "zofltmp3ft",
 "version_id": "9e4e810c-147b-4ac2-85a9-cf64f8fa61e0", "current_version": true, "filename": "Wheel Illustration.ai",
 "created_date": "2023-03-03T12:29:11Z", "last_update_date": "2023-03-03T13:10:39Z",
 "file_upload_date": "2023-03-03T12:29:11Z", "deleted_date": null, "released_and_not_expired": true,
 "asset_properties": {"cutline_caption": "", "favorite": false, "popularity": 0},
 "file_properties": {"format": "JPEG", "format_type": "image", "size_in_bytes": 87040, "size_in_kbytes": 85,
  "image_properties": {"width": 650.0, "height": 650.0, "aspect_ratio": 1.0}, "video_properties": null},
 "metadata": {"fields": {"author": [], "description": ["A wheel"], "shotDate": ["2022-06-19"], "height": ["620"],
  "colors": ["Red", "Blue"]}},
 "metadata_info": {"field_set": "Photo", "field_set_fields": [
  {"key": "author", "label": "Author", "type": "text", "field_type": "text", "required": false, "editable": true,
   "controlled_vocabulary": false, "vocabulary": null},
  {"key": "colors", "label": "Colours", "type": "selection_list_multi", "field_type": "selection_list_multi",
   "required": true, "editable": true, "controlled_vocabulary": true, "vocabulary": ["Red", "Blue", "Green"]}]},
 "security": {"asset_groups": ["public"], "release_date": "2021-09-24T18:31:02Z", "expiration_date": null},
 "status": {"upload_progress": "complete"}, "tags": ["wheel"], "ai_tags": ["rim", "alloy"],
 "thumbnails": null, "embeds": null, "expanded": {"metadata": true},
 "_links": {"download": "https://cdn.example/download-deferred/originals?x=1&Expires=1632866400&Signature=s",
  "self": "https://api.dam.example/v2/assets/2405adb8-fe72-4bec-a47e-0ef3e27fd0b7"}}
""")
SEARCH: dict[str, Any] = json.loads("""
{"query": "lastEditDate:[after 2026-09-01T00:00:00Z]", "sort": "created_date",
 "query_explained": "Last edit date: after 2026-09-01T00:00:00Z", "sort_explained": "Created date (ascending)",
 "query_syntax_ok": true, "scroll_id": "DXF1ZXJ5QW5kRmV0Y2g=", "scroll_timeout": "60000", "include_archived": true,
 "include_deleted": true, "facets": null, "item_type": "asset", "total_count": 24731, "offset": 0, "limit": 100,
 "items": []}
""")
