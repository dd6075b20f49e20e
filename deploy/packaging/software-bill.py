#!/usr/bin/env python3
"""Writes a software bill of materials (CycloneDX 1.5, JSON) of the packages linked into the program.

software-bill.py bill VERSION EPOCH SWIFT-VERSION RESOLVED CHECKOUTS PROGRAM    the bill
software-bill.py copyright RESOLVED CHECKOUTS PROGRAM                           the licences of these packages
"""

import datetime
import hashlib
import json
import mmap
import pathlib
import re
import sys
import uuid


def linked(resolved, checkouts, program):
    """The resolved packages with a source in the program's debug information, with their checkouts."""
    pins = json.loads(pathlib.Path(resolved).read_text(encoding="utf-8"))["pins"]
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
        names = {match.decode() for match in re.findall(rb"/checkouts/([A-Za-z0-9._-]+)/", octets)}
    packages = []
    for pin in pins:
        checkout = pathlib.Path(pin["location"]).name.removesuffix(".git")
        if checkout in names:
            packages.append((pin, pathlib.Path(checkouts) / checkout))
    return sorted(packages, key=lambda package: package[0]["identity"])


def component(pin):
    location = pin["location"].removesuffix(".git")
    version = pin["state"]["version"]
    url = f"pkg:swift/{location.removeprefix('https://')}@{version}"
    return {
        "type": "library",
        "bom-ref": url,
        "name": pin["identity"],
        "version": version,
        "purl": url,
        "hashes": [{"alg": "SHA-1", "content": pin["state"]["revision"]}],
        "externalReferences": [{"type": "vcs", "url": pin["location"]}],
    }


def bill(version, epoch, swift, packages):
    toolchain = {"type": "framework", "bom-ref": f"swift@{swift}", "name": "swift-runtime", "version": swift}
    components = [component(pin) for pin, _ in packages] + [toolchain]
    program = f"native-sso@{version}"
    digest = hashlib.sha256(json.dumps(components, sort_keys=True).encode() + program.encode()).hexdigest()
    time = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": program, "name": "native-sso", "version": version},
        },
        "components": components,
        "dependencies": [{"ref": program, "dependsOn": [c["bom-ref"] for c in components]}],
    }


def licences(packages):
    yield "native-sso\n\nCopyright: the authors of native-sso. No licence has been chosen yet.\n"
    yield "The program /usr/bin/native-sso contains the packages below, and the Swift runtime (Apache License 2.0 with\n" \
        "Runtime Library Exception).\n"
    for pin, checkout in packages:
        yield f"\n{'=' * 72}\n{pin['identity']} {pin['state']['version']}: {pin['location']}\n\n"
        for file in sorted(checkout.iterdir()):
            if re.fullmatch(r"(LICEN[CS]E|NOTICE)(\.\w+)?", file.name, re.IGNORECASE):
                yield file.read_text(encoding="utf-8") + "\n"


if sys.argv[1] == "bill":
    version, epoch, swift, *where = sys.argv[2:]
    json.dump(bill(version, epoch, swift, linked(*where)), sys.stdout, indent=2)
    print()
else:
    sys.stdout.writelines(licences(linked(*sys.argv[2:])))
