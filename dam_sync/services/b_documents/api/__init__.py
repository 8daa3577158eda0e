"""The API of service B: connection, requests, queries."""
