"""Amazon Bedrock with AWS credentials: every request is signed, and nothing secret is sent.

The server checks each signature with botocore's own signer, as AWS does: it signs the request that
came, with the secret that it knows, and compares.
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from fanwise.errors import ModelNotReady, ModelRejected, UsageError
from fanwise.models import Model, connect
from fanwise.models.names import as_spec
from fanwise.models.unconnected import unconnected
from fanwise.testing import Answer, ScriptedServer
from fanwise.testing.http import HttpRequest

from .support import prompt, run

ID, SECRET, TOKEN = "AKIDEXAMPLE", "canary-secret-0123456789", "canary-session-token"
REGION = "eu-central-1"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch, _no_keys: None) -> None:
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def bedrock(server: ScriptedServer, **fields: Any) -> Model:
    return connect({"name": "bedrock:openai.gpt-oss-120b", "base_url": server.base_url, **fields})


def signature(
    request: HttpRequest, server: ScriptedServer, secret: str, service: str = "bedrock-mantle"
) -> str:
    """What this request has to be signed with."""
    given = request.headers["authorization"]
    signed = given.split("SignedHeaders=")[1].split(",")[0].split(";")
    asked = AWSRequest(
        method="POST",
        url=server.base_url.split("/v1")[0] + request.path,
        data=request.body,
        headers={name: request.headers[name] for name in signed if name != "x-amz-date"},
    )
    asked.context["timestamp"] = request.headers["x-amz-date"]
    asked.headers["X-Amz-Date"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(ID, secret), service, REGION)
    canonical = signer.canonical_request(asked)
    return str(signer.signature(signer.string_to_sign(asked, canonical), asked))


def sent_signature(request: HttpRequest) -> str:
    return request.headers["authorization"].split("Signature=")[1]


def test_a_request_is_signed_with_the_credentials_and_the_secret_is_not_sent() -> None:
    async def main() -> None:
        async with ScriptedServer(["fine"]) as server:
            reply = await bedrock(server).reply(prompt("how are you"))
            assert reply.text == "fine"
            (request,) = server.requests
            given = request.headers["authorization"]
            assert given.startswith(f"AWS4-HMAC-SHA256 Credential={ID}/")
            assert f"/{REGION}/bedrock-mantle/aws4_request" in given
            assert sent_signature(request) == signature(request, server, SECRET)
            assert sent_signature(request) != signature(request, server, "another secret")
            assert sent_signature(request) != signature(request, server, SECRET, "bedrock")
            assert SECRET not in str(request)
            assert "x-amz-content-sha256" in given  # so the body is signed, too
            assert request.headers["x-amz-content-sha256"] == sha256(request.body).hexdigest()

    run(main())


def test_a_session_token_is_signed_too_and_stays_out_of_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    told = f"the canonical string should have been x-amz-security-token:{TOKEN}"

    async def main() -> None:
        async with ScriptedServer([Answer(status=403, message=told)]) as server:
            with pytest.raises(ModelRejected) as caught:
                await bedrock(server).reply(prompt())
            assert "canonical string" in str(caught.value)
            assert TOKEN not in str(caught.value)
            (request,) = server.requests
            assert request.headers["x-amz-security-token"] == TOKEN
            assert "x-amz-security-token" in request.headers["authorization"]

    run(main())


def test_a_profile_has_the_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "credentials"
    secrets = f"aws_access_key_id = {ID}\naws_secret_access_key = of the profile\n"
    file.write_text(f"[team]\n{secrets}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "team")

    async def main() -> None:
        async with ScriptedServer(["fine"]) as server:
            await bedrock(server).reply(prompt())
            (request,) = server.requests
            assert sent_signature(request) == signature(request, server, "of the profile")

    run(main())


def test_an_api_key_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")

    async def main() -> None:
        async with ScriptedServer(["fine"]) as server:
            model = bedrock(server)
            await model.reply(prompt())
            assert model.key == "AWS_BEARER_TOKEN_BEDROCK"
            assert server.requests[0].headers["authorization"] == "Bearer bedrock-key"

    run(main())


def test_what_is_missing_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "bedrock:openai.gpt-oss-120b"
    assert connect(name).key is None
    assert unconnected(as_spec(name)).key is None
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ModelNotReady, match="Partial credentials"):
        connect(name)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ModelNotReady, match="no AWS credentials") as caught:
        connect(name)
    assert "fanwise[bedrock]" in str(caught.value)
    assert "AWS_BEARER_TOKEN_BEDROCK" in str(caught.value)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ModelNotReady, match="nobody"):
        connect(name)
    with pytest.raises(ModelNotReady, match="MY_KEY is not set"):
        connect({"name": name, "api_key_env": "MY_KEY"})
    for module in [each for each in sys.modules if each.startswith("botocore")]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModelNotReady, match="botocore"):
        connect(name)


def test_another_region_than_that_of_the_address_is_refused() -> None:
    url = "https://bedrock-mantle.us-west-2.api.aws/v1"
    model = connect({"name": "bedrock:openai.gpt-oss-120b", "base_url": url})
    with pytest.raises(UsageError, match="us-west-2"):
        run(model.reply(prompt()))
