"""Names of terms and containers of the target: found, created once, looked up, given anew, recorded and given back, by
one mechanism for both."""
