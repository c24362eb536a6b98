"""Programs: sweep, train, benchmark. They may use everything below them."""
