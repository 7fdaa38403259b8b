# SPDX-License-Identifier: Apache-2.0
"""The wheel holds libdomaindex and the program domaindex, built from the tree around this folder.

    pip install ./python                       builds both with CMake into build/python (README.md lists the packages it needs)
    DOMAINDEX_BIN_DIR=build/release pip install ./python     takes those that are built there
    DOMAINDEX_PURE=1 pip install ./python      without them: domaindex.connect works, domaindex.open does not
"""
import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

TREE = pathlib.Path(__file__).resolve().parent.parent
PURE = bool(os.environ.get("DOMAINDEX_PURE"))
LIBRARY = "libdomaindex.so.1"


def version():
    lists = TREE / "CMakeLists.txt"
    if not lists.exists():
        raise SystemExit(f"{lists} is missing: build the package in a clone of domaindex, of which python/ is a folder")
    text = lists.read_text(encoding="utf-8")
    numbers, suffix = (re.search(pattern, text).group(1) for pattern in (r"project\(domaindex VERSION (\S+)", r'set\(DX_VERSION_SUFFIX "(.*)"\)'))
    release = numbers + suffix.replace("-", "")  # PEP 440: 1.0.0rc1
    if f'__version__ = "{release}"' not in (TREE / "python/src/domaindex/__init__.py").read_text(encoding="utf-8"):
        raise SystemExit(f"{lists} says release {release}: set __version__ in src/domaindex/__init__.py to it")
    return release


def built():
    """The folder with the library and the program."""
    given = os.environ.get("DOMAINDEX_BIN_DIR")
    if given:
        return pathlib.Path(given).resolve()
    if not shutil.which("cmake"):
        raise SystemExit("cmake is missing, and the wheel holds a library in C: scripts/install_packages.sh build installs what it needs. "
                         "DOMAINDEX_PURE=1 makes a wheel without the library, with which domaindex.connect works")
    folder = TREE / "build" / "python"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.check_call(["cmake", "-S", TREE, "-B", folder, *generator, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DDX_TESTS=OFF", "-DDX_BENCH=OFF"])
    subprocess.check_call(["cmake", "--build", folder, "--target", "libdomaindex", "domaindex_all", "-j", str(os.cpu_count() or 1)])
    return folder


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if PURE:
            return
        source, target = built(), pathlib.Path(self.build_lib) / "domaindex" / "_native"
        target.mkdir(parents=True, exist_ok=True)
        for path in (source / LIBRARY, source / "libexec" / "domaindex" / "domaindex"):  # the program with all commands
            shutil.copy(path, target / path.name)
            if shutil.which("strip"):
                subprocess.check_call(["strip", "--strip-unneeded", target / path.name])


class NativeDistribution(Distribution):
    def has_ext_modules(self):
        return not PURE


class PlatformWheel(bdist_wheel):
    """One wheel for all versions of Python: the library is reached by ctypes."""

    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", "any" if PURE else platform


setup(version=version(), distclass=NativeDistribution, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
