"""What all rooms of `plan` speak of: sub-plans, changes, results, states."""
