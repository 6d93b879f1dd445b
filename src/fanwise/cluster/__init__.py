"""Workers on Ray."""

from fanwise.cluster.ray_place import Ray

__all__ = ["Ray"]
