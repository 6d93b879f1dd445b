"""Every feature reaches every provider, or is refused by name; and the table in docs says so."""

from __future__ import annotations

import warnings

import pytest

from fanwise.models.names import PROVIDERS

from .features import FEATURES, PAGE, in_page, probe, table
from .support import run

REFUSED = {
    "anthropic": {"logprobs"},
    "mistral": {"logprobs", "prefill"},
    "openai-responses": {"stop", "logprobs"},
}
LEFT_OUT = {
    **{scheme: {"prompt_cache"} for scheme in PROVIDERS},
    "anthropic": {"seed"},
    "openai-responses": {"seed", "prompt_cache"},
}
_found: dict[str, dict[str, str]] = {}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, _no_keys: None) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.setenv(provider.key, "any")


def refused_or_sent(scheme: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # google's source, when it is compiled
        warnings.simplefilter("ignore", DeprecationWarning)
        _found[scheme] = run(probe(scheme))


@pytest.mark.parametrize("scheme", PROVIDERS)
def test_a_feature_reaches_its_provider_or_is_refused(scheme: str) -> None:
    refused_or_sent(scheme)
    for what, expected in (("refused", REFUSED), ("left out", LEFT_OUT)):
        found = {feature for feature, each in _found[scheme].items() if each == what}
        assert found == expected.get(scheme, set())


def test_the_table_in_the_guide_is_what_the_providers_were_sent() -> None:
    for scheme in PROVIDERS.keys() - _found.keys():
        refused_or_sent(scheme)
    written = table({scheme: _found[scheme] for scheme in PROVIDERS})
    assert in_page(PAGE.read_text()) == written, "run: python -m tests.models.features"
    assert len(FEATURES) == written.splitlines()[0].count("|") - 2
