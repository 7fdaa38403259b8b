# SPDX-License-Identifier: Apache-2.0
"""manifests - manifest.json read, changed and put in place, as a publisher does it.

    m = manifests.Manifest(root)
    m.flip("000002-20261121T103000Z"); m.put(root)      current from now on, under the next sequence
    m.entry(name)["files"]["pages.dxp"] = manifests.file_member(path)
    manifests.hash128(b"...")                           XXH3-128 as it stands in files, 32 hex digits
    manifests.hash64(b"...")                            XXH3-64: of a domain it is the domain_id

Sums come from libxxhash, which the programs are built with. put renames: readers see the old one
or the new one. Not for roots that a publisher works in at the same time.
"""
import ctypes
import ctypes.util
import json
import os
import time

_name = ctypes.util.find_library("xxhash") or "libxxhash.so.0"
_library = ctypes.CDLL(_name)


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_library.XXH3_128bits.restype = _Hash128
_library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_library.XXH3_64bits.restype = ctypes.c_uint64
_library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def hash64(data):
    return _library.XXH3_64bits(data, len(data))


def hash128(data):
    h = _library.XXH3_128bits(bytes(data), len(data))
    return f"{h.high:016x}{h.low:016x}"


def file_member(path):
    data = path.read_bytes()
    return {"size": len(data), "hash": hash128(data)}


class Manifest:
    def __init__(self, root):
        text = (root / "index" / "manifest.json").read_bytes()
        self.json = json.loads(text)
        at = text.index(b'"checksum"')
        assert self.json["checksum"] == hash128(text[:at])
        del self.json["checksum"]

    @property
    def current(self):
        return self.json["current_version"]

    def names(self):
        return [v["version"] for v in self.json["versions"]]

    def entry(self, name):
        return next(v for v in self.json["versions"] if v["version"] == name)

    def flip(self, name):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.json["sequence"] += 1
        if name != self.current:
            self.entry(self.current)["superseded"] = now
        self.entry(name).update(state="listed", condemned=None, superseded=None)
        self.json["current_version"] = name

    def text(self):
        head = (json.dumps(self.json)[:-1] + ",\n").encode()
        return head + f'"checksum": "{hash128(head)}"\n}}\n'.encode()

    def put(self, root):
        beside = root / "index" / "manifest.json.beside"
        beside.write_bytes(self.text())
        os.rename(beside, root / "index" / "manifest.json")
