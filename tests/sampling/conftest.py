from tests.models.conftest import _no_keys  # noqa: F401 - the same rule holds here
