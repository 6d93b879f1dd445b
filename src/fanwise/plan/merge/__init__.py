"""What the leaves of a plan changed, brought together: without a work tree, in the tree's order."""
