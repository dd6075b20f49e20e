"""The requests of AppAuth for Android 0.11.1, as `AuthorizationService` writes them: the parameters of `TokenRequest` in its
order, then those of `NoClientAuthentication`. AppAuth itself needs a phone."""

import requests

from common import GRANT, ca, exchange, issuer, values

# AuthorizationServiceConfiguration.fetchFromIssuer
discovery = requests.get(issuer + "/.well-known/openid-configuration", verify=ca, allow_redirects=False).json()
assert discovery["issuer"] == issuer and discovery["token_endpoint"] and discovery["jwks_uri"]


def perform_token_request(grant_type, client_id, refresh_token=None, scope=None, additional=None):
    form = [("grant_type", grant_type), ("refresh_token", refresh_token), ("scope", scope)]
    form += list((additional or {}).items()) + [("client_id", client_id)]
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json", "User-Agent": "AppAuth"}
    body = "&".join(f"{name}={requests.utils.quote(value, safe='')}" for name, value in form if value is not None)
    return requests.post(discovery["token_endpoint"], body, headers=headers, verify=ca, allow_redirects=False)


additional = exchange()
scope = additional.pop("scope")
exchanged = perform_token_request(GRANT, "app-two", scope=scope, additional=additional)
assert exchanged.status_code == 200, exchanged.text
# What TokenResponse reads.
first = exchanged.json()
assert first["token_type"] == "Bearer" and isinstance(first["expires_in"], int) and first["scope"] == scope

refreshed = perform_token_request("refresh_token", "app-two", refresh_token=first["refresh_token"])
assert refreshed.status_code == 200 and refreshed.json()["refresh_token"] != first["refresh_token"]

# AuthorizationException.TokenRequestErrors.INVALID_GRANT: delete the refresh token and exchange again.
refused = perform_token_request("refresh_token", "app-two", refresh_token="nsr1.unknown")
assert refused.status_code == 400 and refused.json()["error"] == "invalid_grant"

# AppAuth has no request for it: an app sends the form itself.
form = {"token": refreshed.json()["refresh_token"], "client_id": "app-two"}
assert requests.post(discovery["revocation_endpoint"], form, verify=ca).status_code == 200
