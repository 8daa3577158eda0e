"""The API of service E: connection, requests, searches, query text, what a token tells."""
