"""Authlib: discovery, exchange, refresh, private_key_jwt, introspection and revocation."""

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url

from common import GRANT, ca, exchange, issuer, private_key, raises, values

answer = requests.get(get_well_known_url(issuer, external=True), verify=ca)
metadata = AuthorizationServerMetadata(answer.json())
metadata.validate()
assert metadata["issuer"] == issuer


def session(*client, **options):
    session = OAuth2Session(*client, token_endpoint=metadata["token_endpoint"], **options)
    session.verify = ca
    return session


# A public client.
app = session("app-two")
exchanged = app.fetch_token(grant_type=GRANT, **exchange())
assert exchanged["token_type"] == "Bearer" and exchanged["scope"] == "openid profile"
refreshed = app.refresh_token()
assert refreshed["refresh_token"] != exchanged["refresh_token"]

# An API asks, before and after the app revokes.
api = session("api", values["api_secret"])


def is_active(token):
    answer = api.introspect_token(metadata["introspection_endpoint"], token=token, token_type_hint="access_token")
    return answer.json()["active"]


assert is_active(refreshed["access_token"])
answer = app.revoke_token(metadata["revocation_endpoint"], refreshed["refresh_token"], "refresh_token")
assert answer.status_code == 200
assert not is_active(refreshed["access_token"])
assert raises(OAuthError, app.refresh_token).error == "invalid_grant"

# The assertion names the token endpoint and lives for an hour: the client is registered with both.
signer = session("signer", private_key(), token_endpoint_auth_method="private_key_jwt")
signer.register_client_auth_method(PrivateKeyJWT(metadata["token_endpoint"]))
signer.fetch_token(grant_type=GRANT, **exchange())
assert signer.refresh_token()["access_token"]

# By default the broker takes neither.
strict = session("strict", private_key(), token_endpoint_auth_method="private_key_jwt")
strict.register_client_auth_method(PrivateKeyJWT(metadata["token_endpoint"]))
parameters = exchange()
error = raises(OAuthError, lambda: strict.fetch_token(grant_type=GRANT, **parameters))
assert error.error == "invalid_client"
