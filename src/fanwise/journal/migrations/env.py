"""Alembic runs this; the connection, and the transaction around it, are the caller's."""

from alembic import context

from fanwise.journal.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
