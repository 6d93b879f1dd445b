"""No test of models sees the keys or the addresses of whoever runs it."""

from __future__ import annotations

import os

import pytest

from fanwise.models.names import PROVIDERS


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.delenv(provider.key, raising=False)
        if provider.url_variable:
            monkeypatch.delenv(provider.url_variable, raising=False)
    for variable in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for file in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(file, os.devnull)
