"""Terms and containers that were renamed or moved at the source keep their counterparts at the target."""
