# SPDX-License-Identifier: Apache-2.0
"""no_pandas - a script that imports this has no pandas, which pyarrow imports at its first conversion if it is there: most of a second of
CPU time, for nothing where no data frame is made. With ns timestamps pyarrow needs it."""
import importlib.abc
import sys


class _Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not wanted here", name=name)
        return None


sys.meta_path.insert(0, _Absent())
