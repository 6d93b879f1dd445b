"""Views that count calls of models only, and know cells whose definition leaves out defaults.

No table changes: views are created again after each migration.
"""

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
