"""Alembic's scripts: one file for each schema version, see `fanwise.journal.migrate`."""
