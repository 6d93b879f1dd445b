"""Which owner of a run may write, and how many batches it wrote: fencing on PostgreSQL.

Plain `ALTER TABLE … ADD COLUMN`: no row is touched, however large the journal is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    zero = sa.text("0")
    op.add_column("runs", sa.Column("epoch", sa.Integer, nullable=False, server_default=zero))
    op.add_column("runs", sa.Column("batch", sa.BigInteger, nullable=False, server_default=zero))
