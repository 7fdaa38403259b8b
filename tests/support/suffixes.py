# SPDX-License-Identifier: Apache-2.0
"""suffixes - registered domains by a Public Suffix List, written without looking at canon/.

    rules = Suffixes(text)
    rules.domain("a.b.example.co.uk")      "example.co.uk"; None: the host is itself a suffix

The algorithm of https://publicsuffix.org/list/: the longest matching rule wins, an exception
rule beats all, `*` is the rule where none matches. Beyond its words, `*.x` makes `x` a suffix too: libpsl, Firefox and
Chromium all read it so. Hosts are lower-case A-labels.
"""


class Suffixes:
    def __init__(self, text):
        self.exact, self.wild, self.exception = set(), set(), set()
        for line in text.splitlines():
            rule = line.strip().split(" ")[0].split("\t")[0]
            if not rule or rule.startswith("//"):
                continue
            where = self.exact
            if rule.startswith("!"):
                where, rule = self.exception, rule[1:]
            elif rule.startswith("*."):
                where, rule = self.wild, rule[2:]
            where.add(self._a_labels(rule))
        self._known = {}

    @staticmethod
    def _a_labels(rule):
        return ".".join(
            label if label.isascii() else "xn--" + label.lower().encode("punycode").decode("ascii")
            for label in rule.lower().strip(".").split("."))

    def _suffix_labels(self, labels):
        """How many labels the public suffix has."""
        for i in range(len(labels)):
            name = ".".join(labels[i:])
            parent = ".".join(labels[i + 1:])
            if name in self.exception:
                return len(labels) - i - 1
            if name in self.exact or name in self.wild or (parent and parent in self.wild):
                return len(labels) - i
        return 1

    def domain(self, host):
        if host in self._known:
            return self._known[host]
        labels = host.split(".")
        count = self._suffix_labels(labels) + 1
        if len(labels) > count and not labels[-count]:
            count += 1      # docs/CANON.md, rule 12: one empty label before a suffix counts as part of it
        found = ".".join(labels[-count:]) if len(labels) >= count else None
        if found is not None and (found.startswith(".") or not labels[-1]):
            found = None
        self._known[host] = found
        return found
