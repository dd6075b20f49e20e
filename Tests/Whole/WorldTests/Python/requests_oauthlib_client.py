"""requests-oauthlib: exchange, refresh and revocation. It has no discovery, no private_key_jwt and no introspection: its
session sends what PyJWT signs and what the app writes."""

import time
import uuid

import jwt
import requests
from oauthlib.oauth2 import BackendApplicationClient, InvalidGrantError
from requests_oauthlib import OAuth2Session

from common import GRANT, ca, exchange, issuer, private_key, raises, values

metadata = requests.get(issuer + "/.well-known/openid-configuration", verify=ca).json()


def session(client_id):
    client = BackendApplicationClient(client_id)
    client.grant_type = GRANT
    session = OAuth2Session(client=client)
    session.verify = ca
    return session


# A public client.
app = session("app-two")
exchanged = app.fetch_token(metadata["token_endpoint"], include_client_id=True, **exchange())
refreshed = app.refresh_token(metadata["token_endpoint"], client_id="app-two")
assert refreshed["refresh_token"] != exchanged["refresh_token"]


def is_active(token):
    answer = requests.post(
        metadata["introspection_endpoint"], {"token": token}, auth=("api", values["api_secret"]), verify=ca
    )
    return answer.json()["active"]


assert is_active(refreshed["access_token"])
url, headers, body = app._client.prepare_token_revocation_request(
    metadata["revocation_endpoint"], refreshed["refresh_token"], client_id="app-two"
)
assert requests.post(url, data=body, headers=headers, verify=ca).status_code == 200
assert not is_active(refreshed["access_token"])
raises(InvalidGrantError, lambda: app.refresh_token(metadata["token_endpoint"], client_id="app-two"))


def assertion():
    now = int(time.time())
    claims = {"iss": "strict", "sub": "strict", "aud": issuer, "iat": now, "exp": now + 60, "jti": str(uuid.uuid4())}
    return {
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode(claims, private_key(), "RS256", {"kid": "2026-11"}),
    }


# What the broker takes by default: its issuer, and 5 minutes at most. Without `include_client_id` the library would send an
# empty password beside the assertion.
strict = session("strict")
strict.fetch_token(metadata["token_endpoint"], include_client_id=True, **exchange(), **assertion())
assert strict.refresh_token(metadata["token_endpoint"], **assertion())["access_token"]
