#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py VERSION CREATED PROGRAM... - SPDX 2.3 (JSON) of what the programs are made of, on standard output.

Packages: domaindex; each Debian package whose library a PROGRAM loads (ldd, dpkg); what web/package-lock.json puts
into the page; the Unicode data of canon/idna_table.h. CREATED is the commit's time, so that the same
tree on the same system gives the same bytes. Exit 1 if a library belongs to no package.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def libraries(programs):
    paths = set()
    for program in programs:
        for line in output("ldd", program).splitlines():
            match = re.search(r"=> (/\S+)", line) or re.match(r"\s*(/\S+)", line)
            if match:
                paths.add(match.group(1))
    return sorted(paths)


def owner(path):
    """dpkg knows a merged /usr by one of its two names."""
    names = [path, str(pathlib.Path(path).resolve())]
    names += [n[4:] for n in names if n.startswith("/usr/lib")] + ["/usr" + n for n in names if n.startswith("/lib")]
    for name in names:
        done = subprocess.run(["dpkg-query", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return done.stdout.decode().rsplit(": ", 1)[0].split(", ")[0]
    sys.exit(f"sbom.py: {path}: no Debian package has this library")


def package(name, version, purpose, licence="NOASSERTION", supplier="NOASSERTION", reference=None):
    spdx_id = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
    made = {"SPDXID": spdx_id, "name": name, "versionInfo": version, "supplier": supplier,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": purpose}
    if reference:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": reference}]
    return made


def of_debian(names):
    for name in sorted(names):
        plain, architecture = (name.split(":") + ["all"])[:2]
        version = output("dpkg-query", "-W", "-f", "${Version}", name)
        yield package(plain, version, "a library that the programs load", supplier="Organization: Debian",
                      reference=f"pkg:deb/debian/{plain}@{version}?arch={architecture}")


def of_the_page():
    lock = json.loads((SOURCE / "web" / "package-lock.json").read_text())
    bundled = set(json.loads((SOURCE / "web" / "package.json").read_text()).get("dependencies", {})) or {"preact"}
    for path, entry in sorted(lock["packages"].items()):
        name = path.removeprefix("node_modules/")
        if name in bundled:
            yield package(name, entry["version"], "part of the web page (web/dist)", entry.get("license", "NOASSERTION"),
                          reference=f"pkg:npm/{name}@{entry['version']}")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    version, created, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    created = output("date", "-u", "-d", created, "+%Y-%m-%dT%H:%M:%SZ").strip()
    packages = [package("domaindex", version, "domaindex and domaindexd", "Apache-2.0")]
    packages += of_debian({owner(path) for path in libraries(programs)})
    packages += of_the_page()
    packages.append(package("unicode-data", "17.0", "canon/idna_table.h is made from it", "Unicode-3.0"))
    names = ":".join(f"{p['name']}@{p['versionInfo']}" for p in packages)
    digest = hashlib.sha256(names.encode()).hexdigest()
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": packages[0]["SPDXID"]}]
    relations += [{"spdxElementId": packages[0]["SPDXID"], "relationshipType": "DEPENDS_ON", "relatedSpdxElement": p["SPDXID"]} for p in packages[1:]]
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"domaindex-{version}",
               "documentNamespace": f"https://spdx.org/spdxdocs/domaindex-{version}-{digest[:32]}",
               "creationInfo": {"created": created, "creators": ["Tool: scripts/sbom.py"]},
               "packages": packages, "relationships": relations}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
