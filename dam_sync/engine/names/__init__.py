"""Names of terms and containers of the target: found, created once, looked up, changed, recorded and restored, by
one mechanism for both."""
