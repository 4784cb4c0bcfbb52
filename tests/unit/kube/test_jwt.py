"""What a token states about itself, whatever its form."""

from __future__ import annotations

import base64
import json

import hypothesis
from hypothesis import strategies as st

from tacker_k8s_cr.kube.kubeconfig import jwt

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def token(claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode())
    return f"e30.{payload.decode().rstrip('=')}.sign"


@hypothesis.given(
    st.text()
    | VALUES.map(token)
    | st.fixed_dictionaries({"exp": VALUES, "iat": VALUES, "sub": VALUES}).map(
        token
    )
)
def test_no_content_of_a_token_is_an_error(text: str) -> None:
    """A token is opaque to a client; many are not JSON Web Tokens."""
    jwt.expiry(text)
    jwt.lifetime(text, 0.0)
    assert isinstance(jwt.subject(text), str)


def test_its_claims_are_read() -> None:
    """Its end, how long it lasts by its maker's clock, and whose it is."""
    text = token({"exp": 1100, "iat": 1000, "sub": "alice"})

    end = jwt.expiry(text)

    assert end is not None
    assert 1100.0 == end.timestamp()
    assert 100.0 == jwt.lifetime(text, 5.0)
    assert "alice" == jwt.subject(text)


def test_a_token_without_its_time_of_making() -> None:
    """Our own clock is the best that there is."""
    assert 95.0 == jwt.lifetime(token({"exp": 100}), 5.0)
