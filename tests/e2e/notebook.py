#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# labels: peers slow long
"""docs/tour.ipynb: its cells, run in their order against a server with the rows of docs/PYTHON.md, give the outputs that it has.

    tests/e2e/notebook.py --write       puts these outputs in

Cells are run here as Jupyter does it (what is printed, and the value of the last expression as text), without Jupyter.
"""
import ast
import contextlib
import io
import json
import os
import re
import sys

import dxtest
import python_client
from dxtest import check, equal

NOTEBOOK = dxtest.SOURCE / "docs" / "tour.ipynb"
ADDRESS = "http://127.0.0.1:8080"


def run(source, space):
    """Outputs of a cell, as a notebook has them."""
    tree, said, outputs = ast.parse(source), io.StringIO(), []
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "cell", "exec"), space)
        value = eval(compile(last, "cell", "eval"), space) if last else None
    if said.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": said.getvalue().splitlines(keepends=True)})
    if value is not None:
        outputs.append({"data": {"text/plain": repr(value).splitlines(keepends=True)}, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def make_root(tmp):
    make = next(block for block in re.findall(r"(?s)```sh\n(.*?)```", python_client.DOCUMENT.read_text(encoding="utf-8")) if "domaindex ingest" in block)
    dxtest.run("sh", "-ec", make.replace("domaindexd --root ./root\n", ""), cwd=tmp, env={"PATH": f"{dxtest.BIN}:{os.environ['PATH']}"})
    return tmp / "root"


def main():
    dxtest.need_programs()
    try:
        import pandas  # noqa: F401
    except ImportError:
        dxtest.skip("there is no pandas (tests/e2e/requirements.txt)")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    equal(len({cell["id"] for cell in notebook["cells"]}), len(notebook["cells"]), "each cell has an id")
    check(len(cells) >= 6 and ADDRESS in "".join(cells[0]["source"]), "the first cell connects")
    with dxtest.tempdir() as tmp:
        python_client.install(tmp)
        space = {}
        with dxtest.Server(make_root(tmp)) as server:
            for number, cell in enumerate(cells, 1):
                outputs = run("".join(cell["source"]).replace(ADDRESS, f"http://127.0.0.1:{server.port}"), space)
                for output in outputs:
                    if "execution_count" in output:
                        output["execution_count"] = number
                if sys.argv[1:] == ["--write"]:
                    cell["execution_count"], cell["outputs"] = number, outputs
                equal(cell["outputs"], outputs, f"cell {number}")
    if sys.argv[1:] == ["--write"]:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    dxtest.finish()


if __name__ == "__main__":
    main()
