"""Verifies an access token (RFC 9068) and an id_token with joserfc, PyJWT, jwcrypto and Authlib, by the published keys."""

import ssl

import jwt
import requests
from authlib.oauth2.rfc9068.claims import JWTAccessTokenClaims
from joserfc import jwt as joserfc_jwt
from joserfc.jwk import KeySet
from jwcrypto import jwk, jwt as jwcrypto_jwt

from common import ca, issuer, raises, values

metadata = requests.get(issuer + "/.well-known/openid-configuration", verify=ca).json()
algorithms = metadata["id_token_signing_alg_values_supported"]
keys = requests.get(metadata["jwks_uri"], verify=ca)

for name, audience in [("access_token", values["audience"]), ("id_token", "app-one")]:
    token = values[name]
    # The last character of a signature may have unused bits.
    head, dot, signature = token.rpartition(".")
    forged = head + dot + ("A" if signature[0] != "A" else "B") + signature[1:]

    # joserfc, which Authlib uses
    registry = joserfc_jwt.JWTClaimsRegistry(
        iss={"essential": True, "value": issuer}, aud={"essential": True, "value": audience}, exp={"essential": True}
    )
    key_set = KeySet.import_key_set(keys.json())
    verified = joserfc_jwt.decode(token, key_set, algorithms=algorithms)
    registry.validate(verified.claims)
    raises(Exception, lambda: joserfc_jwt.decode(forged, key_set, algorithms=algorithms))

    # PyJWT, which fetches the keys
    client = jwt.PyJWKClient(metadata["jwks_uri"], ssl_context=ssl.create_default_context(cafile=ca))

    def decode(token, audience):
        key = client.get_signing_key_from_jwt(token)
        return jwt.decode(
            token, key, algorithms=algorithms, audience=audience, issuer=issuer, options={"require": ["exp", "iat"]}
        )

    claims = decode(token, audience)
    assert claims == verified.claims and claims["sub"] == values["subject"]
    raises(jwt.InvalidSignatureError, lambda: decode(forged, audience))
    raises(jwt.InvalidAudienceError, lambda: decode(token, "https://other.example.test"))

    # jwcrypto
    key_set = jwk.JWKSet.from_json(keys.text)
    checks = {"iss": issuer, "aud": audience, "exp": None}
    jwcrypto_jwt.JWT(jwt=token, key=key_set, algs=algorithms, check_claims=checks)
    raises(Exception, lambda: jwcrypto_jwt.JWT(jwt=forged, key=key_set, algs=algorithms, check_claims=checks))

    if name == "access_token":
        assert verified.header["typ"] == "at+jwt"
        options = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": audience}}
        JWTAccessTokenClaims(verified.claims, verified.header, options).validate()
