"""How late the process was when a call began and ended, and how many calls it had in flight.

Plain `ALTER TABLE … ADD COLUMN`: no row is touched, however large the journal is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("lag_s", sa.Float))
    op.add_column("attempts", sa.Column("in_flight", sa.Integer))
