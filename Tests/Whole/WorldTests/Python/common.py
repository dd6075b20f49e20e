"""What the test gives to a client library. The libraries are used as they come."""

import json
import sys

with open(sys.argv[1]) as file:
    values = json.load(file)

issuer, ca = values["issuer"], values["ca"]
logins = iter(values["logins"])

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"


def exchange():
    """A login that no broker has seen: what an app sends beside grant_type and its client_id (Native SSO 4.1)."""
    login = next(logins)
    return {
        "audience": values["idp"],
        "subject_token": login["id_token"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "actor_token": login["device"],
        "actor_token_type": "urn:x-oath:params:oauth:token-type:device-id",
        "scope": "openid profile",
    }


def private_key():
    with open(values["signer_key"]) as file:
        return file.read()


def raises(error, call):
    """The exception that a call must end with."""
    try:
        call()
    except error as raised:
        return raised
    raise AssertionError(f"no {error.__name__}")
