# SPDX-License-Identifier: Apache-2.0
"""gdb printers for the types that occur everywhere.

    gdb -ex 'source scripts/gdb/domaindex_gdb.py' build/dev/domaindex
"""
import gdb
import gdb.printing

SHOWN_MAX = 200


def shown(data, size):
    """At most SHOWN_MAX bytes as a Python bytes literal."""
    size = int(size)
    if int(data) == 0:
        return "NULL"
    taken = bytes(gdb.selected_inferior().read_memory(int(data), min(size, SHOWN_MAX)))
    return repr(taken)[1:] + ("…" if size > SHOWN_MAX else "")


class Span:
    """struct dx_span: bytes that somebody else owns."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"{int(self.value['size'])} bytes {shown(self.value['data'], self.value['size'])}"


class Buffer(Span):
    """struct dx_buf: a growing buffer; `failed` is sticky."""

    def to_string(self):
        failed = ", FAILED" if self.value["failed"] else ""
        return super().to_string() + failed


class Error:
    """struct dx_error: a code and its text."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return f"{self.value['code']}: {self.value['text'].string(errors='replace')}"


printers = gdb.printing.RegexpCollectionPrettyPrinter("domaindex")
printers.add_printer("dx_span", "^dx_span$", Span)
printers.add_printer("dx_buf", "^dx_buf$", Buffer)
printers.add_printer("dx_error", "^dx_error$", Error)
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
