"""idpyoidc: discovery, exchange, refresh, private_key_jwt, introspection and revocation."""

from cryptojwt.jwk.rsa import RSAKey, import_private_rsa_key_from_file
from cryptojwt.key_bundle import KeyBundle
from cryptojwt.key_jar import KeyJar
from idpyoidc.client.exception import ResponseError
from idpyoidc.client.oauth2 import Client

from common import GRANT, ca, exchange, issuer, raises, values

SERVICES = {
    "server_metadata": "server_metadata.ServerMetadata",
    "token_exchange": "token_exchange.TokenExchange",
    "refresh_token": "refresh_access_token.RefreshAccessToken",
    "introspection": "introspection.Introspection",
    "token_revocation": "token_revocation.TokenRevocation",
}


def client(client_id, method, secret=None, keyjar=None):
    # Without this each service authenticates as it likes best.
    options = {"default_authn_method": method}
    services = {
        name: {"class": "idpyoidc.client.oauth2." + path, "kwargs": options if name != "server_metadata" else {}}
        for name, path in SERVICES.items()
    }
    config = {"issuer": issuer, "client_id": client_id}
    if secret:
        config["client_secret"] = secret
    client = Client(keyjar, config, services, httpc_params={"verify": ca}, client_type="oauth2")
    assert client.do_request("server_metadata")["issuer"] == issuer
    return client


def parameters(client_id):
    return exchange() | {"grant_type": GRANT, "client_id": client_id}


# A public client.
app = client("app-two", "")
exchanged = app.do_request("token_exchange", request_args=parameters("app-two"), state="s")
assert exchanged["token_type"] == "Bearer", exchanged
refreshed = app.do_request("refresh_token", request_args={"client_id": "app-two"}, state="s")
assert refreshed["refresh_token"] != exchanged["refresh_token"], refreshed

# An API asks, before and after the app revokes. The library takes the empty body of a revocation for an error.
api = client("api", "client_secret_basic", secret=values["api_secret"])


def is_active(token):
    return api.do_request("introspection", request_args={"token": token})["active"]


assert is_active(refreshed["access_token"])
revocation = {"client_id": "app-two", "token": refreshed["refresh_token"]}
raises(ResponseError, lambda: app.do_request("token_revocation", request_args=revocation))
assert not is_active(refreshed["access_token"])
refused = app.do_request("refresh_token", request_args={"client_id": "app-two"}, state="s")
assert refused["error"] == "invalid_grant", refused

# The assertion names the token endpoint and lives for ten minutes: the client is registered with both.
bundle = KeyBundle()
bundle.append(
    RSAKey(priv_key=import_private_rsa_key_from_file(values["signer_key"]), kid="2026-11", alg="RS256", use="sig")
)
keyjar = KeyJar()
keyjar.add_kb("", bundle)
signer = client("signer", "private_key_jwt", keyjar=keyjar)
exchanged = signer.do_request("token_exchange", request_args=parameters("signer"), state="s")
assert exchanged["token_type"] == "Bearer", exchanged
refreshed = signer.do_request("refresh_token", request_args={}, state="s")
assert refreshed["refresh_token"] != exchanged["refresh_token"], refreshed
