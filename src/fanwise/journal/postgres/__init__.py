"""The journal on a PostgreSQL server, for several hosts. Needs the extra `fanwise[postgres]`."""
