"""No test of models sees the keys or the addresses of whoever runs it."""

from __future__ import annotations

import pytest

from fanwise.models.names import PROVIDERS


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.delenv(provider.key, raising=False)
        if provider.url_variable:
            monkeypatch.delenv(provider.url_variable, raising=False)
