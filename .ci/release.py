"""Describes what `make release` built: an SBOM (CycloneDX, JSON), its versions as constraints, and all digests.

The SBOM is made of what the packages installed beside this one say of themselves, so it needs no network. Its versions
are those of this environment, which `make setup` takes from `requirements.lock`. The same commit gives the same file.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "dam-sync-engine"
EXTRAS = ("cluster", "demo", "demo-cluster", "keyring", "postgres")  # all but `dev`
UNKNOWN = "UNKNOWN"  # what some build tools write for a field that was left out


def required(name: str, extra: str = "") -> Iterator[Requirement]:
    """What a package needs here: without extras, or what one of them adds to that."""
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        plain = marker is None or marker.evaluate({"extra": ""})
        if plain != bool(extra) and (marker is None or marker.evaluate({"extra": extra})):
            yield requirement


def needed(name: str, extras: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """Every package that one needs, directly or not, itself included; with what each needs directly."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    pending = [(canonicalize_name(name), extra) for extra in ("", *extras)]
    while pending:
        package, extra = pending.pop()
        if (package, extra) in seen:
            continue
        seen.add((package, extra))
        direct = found.setdefault(package, set())
        for requirement in required(package, extra):
            other = canonicalize_name(requirement.name)
            direct |= {other} - {package}
            pending += [(other, each) for each in ("", *requirement.extras)]
    return found


def purl(name: str) -> str:
    """Where a package comes from: our own from no index, where somebody else may take its name."""
    canonical = canonicalize_name(name)
    return f"pkg:{'generic' if canonical == NAME else 'pypi'}/{canonical}@{metadata.version(name)}"


def licences(name: str) -> list[dict[str, Any]]:
    """As the package states them: an SPDX expression if it has one, else its classifiers, else a short text."""
    stated = metadata.metadata(name)
    if expression := stated.get_all("License-Expression"):
        return [{"expression": expression[0]}]
    classified = [row.split(" :: ")[-1] for row in stated.get_all("Classifier") or () if row.startswith("License ::")]
    text = (stated.get_all("License") or [UNKNOWN])[0]
    names = classified or ([text] if text != UNKNOWN and "\n" not in text else [])
    return [{"license": {"name": each}} for each in names]


def component(name: str, scope: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"type": "library", "bom-ref": purl(name), "name": name, "version": metadata.version(name)}
    made |= {"scope": scope} if scope else {}
    made |= {"licenses": stated} if (stated := licences(name)) else {}
    return made | {"purl": purl(name)}


def sbom(name: str, extras: tuple[str, ...], built: datetime, revision: str) -> dict[str, Any]:
    """The bill of materials of one installed package: what it needs is `required`, what its extras add `optional`."""
    always, all_of_them = needed(name), needed(name, extras)
    others = sorted(set(all_of_them) - {canonicalize_name(name)})
    root = component(name) | {"type": "application"}
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": built.isoformat(timespec="seconds"),
            "component": root,
            "properties": [
                {"name": "revision", "value": revision},
                {
                    "name": "environment",
                    "value": f"Python {sys.version_info.major}.{sys.version_info.minor}, {sys.platform}",
                },
            ],
        },
        "components": [component(each, "required" if each in always else "optional") for each in others],
        "dependencies": [
            {"ref": purl(each), "dependsOn": sorted(map(purl, all_of_them[each]))} for each in sorted(all_of_them)
        ],
    }
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
    return made | {"serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, digest).urn}


def constraints(bill: dict[str, Any]) -> str:
    """The versions of a bill in the form that `pip install --constraint` reads."""
    return "".join(f"{each['name']}=={each['version']}\n" for each in bill["components"])


def checksums(folder: Path) -> str:
    """In the form that `sha256sum --check` reads."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main(folder: Path, revision: str) -> None:
    built = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), UTC)
    name = f"{NAME.replace('-', '_')}-{metadata.version(NAME)}.cdx.json"
    bill = sbom(NAME, EXTRAS, built, revision)
    (folder / name).write_text(f"{json.dumps(bill, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    (folder / "constraints.txt").write_text(constraints(bill), encoding="utf-8")
    (folder / "SHA256SUMS").write_text(checksums(folder), encoding="utf-8")
    sys.stdout.write(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
