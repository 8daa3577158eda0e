"""Jobs between two services, and what they did."""
