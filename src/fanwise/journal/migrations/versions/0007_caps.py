"""Which limits were asked for while a run is executed.

Plain `ALTER TABLE … ADD COLUMN`: no row is touched, however large the journal is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("caps_asked", sa.Text))
