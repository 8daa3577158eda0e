"""Services: served tenants, connections to them, and services of the tests alone."""
