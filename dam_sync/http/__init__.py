"""HTTP client: requests, authentication, rate limits, retries, error rules. Used by services only."""
