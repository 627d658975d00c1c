"""Credentials that are found on the machine: AWS's signature on a request, Google's token beside it.

Both need the vendor's own package, imported when a request is about to be made and no key was given. Finding
credentials may read files, start a program or ask a server: `prepare` does it, off the event loop; `sign` only puts on
the request what was found, and asks again when it has run out.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from .errors import AuthenticationFailed, ConfigError
from .extras import missing_extra
from .refusals import clean
from .transport import HttpRequest

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Signer(Protocol):
    """Puts credentials on a request."""

    async def prepare(self) -> None:
        """Finds the credentials. Safe to call again."""

    def sign(self, request: HttpRequest) -> HttpRequest:
        """The request with what proves who asks."""


class AwsSigner:
    """Signature Version 4, with the credentials that AWS's own tools would use: environment, profile, role."""

    def __init__(self, region: str, provider: str = "bedrock", *, service: str = "bedrock") -> None:
        self._region = region
        self._provider = provider
        self._service = service
        self._found: Any = None

    async def prepare(self) -> None:
        """Finds the credentials, and renews them if they are about to run out."""
        await asyncio.to_thread(self._frozen)

    def sign(self, request: HttpRequest) -> HttpRequest:
        """The request with the signature over its method, URL, headers and body as they are."""
        auth = _quiet_signature()(self._frozen(), self._service, self._region)
        return _signed(request, auth)

    def _frozen(self) -> Any:
        try:
            from botocore.session import Session
        except ImportError:
            raise missing_extra(
                "bedrock",
                instead="or set AWS_BEARER_TOKEN_BEDROCK to a Bedrock key.",
                provider=self._provider,
            ) from None
        problem = ""
        try:
            if self._found is None:
                self._found = Session().get_credentials()
            if self._found is not None:
                return self._found.get_frozen_credentials()
        except Exception as error:  # a profile may name a program or a file: what is wrong with it is raised as it is
            problem = f": {_words(error)}"
        raise AuthenticationFailed(
            f"no AWS credentials{problem}",
            hint="Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
            provider=self._provider,
        )


def now() -> datetime:
    """The time that a signature is of."""
    return datetime.now(UTC)


def _quiet_signature() -> Any:
    """botocore's signature, without what it writes to its log on the way: the session token and the signature."""
    from botocore.auth import SigV4Auth

    class Signature(SigV4Auth):  # type: ignore[misc]
        def add_auth(self, request: Any) -> None:
            request.context["timestamp"] = now().strftime("%Y%m%dT%H%M%SZ")
            self._modify_request_before_signing(request)
            words = self.string_to_sign(request, self.canonical_request(request))
            self._inject_signature_to_request(request, self.signature(words, request))

    return Signature


def _signed(request: HttpRequest, auth: Any) -> HttpRequest:
    from botocore.awsrequest import AWSRequest

    # A proxy may change what a client accepts, and the transport adds headers of its own: only what stays is signed.
    kept = {name: value for name, value in request.headers.items() if name.lower() == "content-type"}
    draft = AWSRequest(method=request.method, url=request.url, headers=kept, data=request.body)
    auth.add_auth(draft)
    return msgspec.structs.replace(request, headers={**request.headers, **dict(draft.headers.items())})


class GoogleSigner:
    """A bearer token of Google's application default credentials."""

    def __init__(self, provider: str = "vertex") -> None:
        self._provider = provider
        self._found: Any = None

    async def prepare(self) -> None:
        """Finds the credentials, and asks for a token if the one there is has run out."""
        await asyncio.to_thread(self._token)

    def sign(self, request: HttpRequest) -> HttpRequest:
        """The request with the token."""
        headers = {**request.headers, "Authorization": f"Bearer {self._token()}"}
        return msgspec.structs.replace(request, headers=headers)

    def _token(self) -> str:
        try:
            import google.auth
            import google.auth.exceptions
            import google.auth.transport.requests
            import requests
        except ImportError:
            raise ConfigError(
                "Google's default credentials need google-auth",
                hint="Install it: pip install 'google-auth[requests]'; or set GOOGLE_OAUTH_ACCESS_TOKEN to a token.",
                provider=self._provider,
            ) from None
        try:
            if self._found is None:
                self._found, _ = google.auth.default(scopes=[_SCOPE])
            if not self._found.valid:
                with requests.Session() as session:
                    self._found.refresh(google.auth.transport.requests.Request(session))
            return str(self._found.token)
        except google.auth.exceptions.GoogleAuthError as error:
            problem = clean(str(error.args[0] if error.args else type(error).__name__))[:300]
        except Exception as error:  # a file of credentials that is JSON and yet none
            problem = _words(error)
        raise AuthenticationFailed(
            f"no Google credentials: {problem}",
            hint="Run `gcloud auth application-default login`, or set GOOGLE_OAUTH_ACCESS_TOKEN to a token.",
            provider=self._provider,
        )


def _words(error: Exception) -> str:
    """What an error says, on one line, and what kind it is where it is not made for people."""
    kind = "" if type(error).__module__.startswith("botocore.") else f"{type(error).__name__}: "
    return clean(f"{kind}{error}")[:300]


def aws_region() -> str:
    """The region of AWS's own configuration; empty where there is none, or nothing to read it with."""
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError:
        return ""
    try:
        return str(Session().get_config_variable("region") or "")
    except (BotoCoreError, OSError):
        return ""
