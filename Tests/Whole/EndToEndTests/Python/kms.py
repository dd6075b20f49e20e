"""AWS KMS by moto, with faults. kms.py FILE: the first word of FILE is the fault of the next requests; empty: none.
It writes its port and the id of a symmetric key.

Unlike moto alone, it checks the signature of each request, with botocore's implementation of Signature Version 4, refuses to
use a key that waits for its deletion, and signs a digest as it is: moto hashes it again.
"""

import base64
import collections
import io
import json
import sys
import time

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils
from moto.kms.models import kms_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

SECRETS = {"AKIDTEST": "test-secret", "AKIDRENEWED": "renewed-secret"}
moto = DomainDispatcherApplication(create_backend_app)
faults = sys.argv[1]
deleted = set()
# How many requests met each text of FILE.
met = collections.Counter()


def refuse(start, status, kind, message=""):
    start(status, [("Content-Type", "application/x-amz-json-1.1")])
    return [json.dumps({"__type": kind, "message": message}).encode()]


def signature(environ, body):
    """What is wrong with the signature; None if it is right."""
    scheme, _, rest = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
    if scheme != "AWS4-HMAC-SHA256" or "Credential" not in fields:
        return "MissingAuthenticationTokenException"
    key, _, region, service, _ = fields["Credential"].split("/")
    if key not in SECRETS:
        return "UnrecognizedClientException"
    if service != "kms":
        return "IncompleteSignatureException"
    headers = {}
    for name in fields["SignedHeaders"].split(";"):
        variable = name.upper().replace("-", "_")
        headers[name] = environ.get(variable if name == "content-type" else "HTTP_" + variable, "")
    request = AWSRequest("POST", f"http://{environ['HTTP_HOST']}/", headers, body)
    request.context["timestamp"] = headers.get("x-amz-date", "")
    signer = SigV4Auth(Credentials(key, SECRETS[key]), service, region)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return None if signer.signature(text, request) == fields["Signature"] else "InvalidSignatureException"


def signed_digest(request):
    """The answer to `Sign` of a digest; None if moto has to refuse it."""
    algorithm = request.get("SigningAlgorithm", "")
    try:
        key = backend.describe_key(request["KeyId"])
    except Exception:
        return None
    if key.key_state != "Enabled" or algorithm not in (key.signing_algorithms or []):
        return None
    function = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}[algorithm[-3:]]
    digest, prehashed = base64.b64decode(request["Message"]), utils.Prehashed(function)
    private = key.private_key.private_key
    if algorithm.startswith("ECDSA"):
        octets = private.sign(digest, ec.ECDSA(prehashed))
    elif "PSS" in algorithm:
        octets = private.sign(digest, padding.PSS(padding.MGF1(function), padding.PSS.DIGEST_LENGTH), prehashed)
    else:
        octets = private.sign(digest, padding.PKCS1v15(), prehashed)
    return {"KeyId": key.arn, "Signature": base64.b64encode(octets).decode(), "SigningAlgorithm": algorithm}


def application(environ, start):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)
    with open(faults, encoding="utf-8") as file:
        text = file.read()
    fault, *rest = text.split() or [""]
    met[text] += 1
    if fault == "drop":
        environ["werkzeug.socket"].shutdown(2)
        return []
    if fault == "slow":
        time.sleep(float(rest[0]))
    if fault == "throttled" and (not rest or met[text] <= int(rest[0])):
        return refuse(start, "400 Bad Request", "ThrottlingException", "Rate exceeded")
    if fault == "denied":
        return refuse(start, "400 Bad Request", "AccessDeniedException", "User is not authorized")
    if fault == "clock":
        return refuse(start, "400 Bad Request", "InvalidSignatureException", "Signature expired: it is now earlier")
    if fault == "error":
        return refuse(start, "500 Internal Server Error", "KMSInternalException")
    if fault == "page":
        start("200 OK", [("Content-Type", "text/html")])
        return [b"<html>Welcome</html>"]
    if fault == "empty":
        start("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
        return [b"{}"]
    if fault == "garbage":
        start("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
        return [json.dumps({"Signature": "AAAA", "PublicKey": "AAAA", "Plaintext": "AAAA"}).encode()]
    if fault == "endless":
        start("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
        return [b"x" * (1 << 20)]
    if fault == "renewed" and "Credential=AKIDRENEWED/" not in environ.get("HTTP_AUTHORIZATION", ""):
        return refuse(start, "400 Bad Request", "ExpiredTokenException", "The security token is expired")
    problem = signature(environ, body)
    if problem:
        return refuse(start, "400 Bad Request", problem, "The request signature does not match")
    request = json.loads(body)
    key = request.get("KeyId")
    if key in deleted:
        return refuse(start, "400 Bad Request", "KMSInvalidStateException", f"{key} is pending deletion.")
    if environ.get("HTTP_X_AMZ_TARGET") == "TrentService.Sign" and request.get("MessageType") == "DIGEST":
        answer = signed_digest(request)
        if answer:
            start("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
            return [json.dumps(answer).encode()]
    if environ.get("HTTP_X_AMZ_TARGET") == "TrentService.ScheduleKeyDeletion":
        deleted.add(key)
    return moto(environ, start)


WSGIRequestHandler.protocol_version = "HTTP/1.1"
WSGIRequestHandler.log_request = lambda *arguments: None
server = make_server("127.0.0.1", 0, application, threaded=True)
backend = kms_backends["123456789012"]["eu-central-1"]
wrapping_key = backend.create_key(
    policy=None, key_usage="ENCRYPT_DECRYPT", key_spec="SYMMETRIC_DEFAULT", description="wraps", tags=None
)
print(server.server_port, wrapping_key.id, flush=True)
server.serve_forever()
