"""Writes an RSA key: PEM for the client library, and the public JWK for the broker."""

import json
import sys

from joserfc.jwk import RSAKey

key = RSAKey.generate_key(2048, {"kid": "2026-11", "alg": "RS256", "use": "sig"})
with open(sys.argv[1] + ".pem", "wb") as file:
    file.write(key.as_pem(private=True))
with open(sys.argv[1] + ".jwk", "w") as file:
    json.dump(key.as_dict(private=False), file)
