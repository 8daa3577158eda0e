"""Reading: shards, crawl, fetch, open."""
