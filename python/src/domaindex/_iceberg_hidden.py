# SPDX-License-Identifier: Apache-2.0
"""What readers must not show of a lake file: rows that suppressions hide, rows that a version leaves out as faulty, and single texts.

The rules are those of docs/FORMAT.md 13.1, 12.1 and 12.4.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from .canonical import Canonicaliser


def _name(host: str) -> str:
    """Without its port and without one trailing dot."""
    name, _, port = host.rpartition(":")
    name = name if name and port.isdigit() else host
    return name[:-1] if name.endswith(".") else name


def _above(name: str) -> Iterable[str]:
    """The name, and those above it."""
    labels = name.split(".")
    return (".".join(labels[i:]) for i in range(len(labels)))


@dataclasses.dataclass
class Rules:
    """Active rules, and which lines of the log they end at."""

    line: int
    domains: Set[str]
    hosts: Set[str]
    prefixes: Dict[str, List[str]]
    urls: Set[str]
    urls_hosts: Set[str]
    names: Set[str]  # those of rules and all above them
    canon: Canonicaliser

    def __bool__(self) -> bool:
        return bool(self.domains or self.hosts or self.prefixes or self.urls)

    def hits_host(self, domain: str, host: str) -> bool:
        return host in self.hosts or domain in self.domains or any(name in self.domains for name in _above(_name(host)))

    def hits(self, scheme: str, host: str, path: str) -> bool:
        return any(path.startswith(p) for p in self.prefixes.get(host, ())) or (host in self.urls_hosts and f"{scheme}://{host}{path}" in self.urls)

    def concerns(self, domain: Optional[str]) -> bool:
        """Whether a rule can hit a row of the domain: one for a name at or below it, or for a domain above it, which need not be a suffix
        (amazonaws.com)."""
        return domain in self.names or any(name in self.domains for name in _above(domain or ""))

    def hit_urls(self, texts: Any) -> Set[int]:
        """Positions of those of an Arrow array of URLs, as they were typed, that a rule hits; what is not a URL none does."""
        if texts.null_count == len(texts):
            return set()
        form = self.canon.batch(texts)
        rows = zip(*(form.column(name).to_pylist() for name in ("domain", "scheme", "host", "path_query")))
        return {at for at, (domain, scheme, host, path) in enumerate(rows)
                if host is not None and (self.hits_host(domain, host) or self.hits(scheme, host, path))}


def rules_of(log: Sequence[Mapping[str, Any]], cleansed: int, canon: Canonicaliser) -> Rules:
    """log: `domaindex suppress list --json`. Rules up to `cleansed` hit no row of the version's files."""
    rules = Rules(max((int(entry["number"]) for entry in log), default=0), set(), set(), {}, set(), set(), set(), canon)
    for entry in log:
        if entry["action"] != "add" or entry["lifted_by"] is not None or int(entry["number"]) <= cleansed:
            continue
        value = str(entry["value"])
        if entry["kind"] == "domain":
            rules.domains.add(value)
            host = value
        elif entry["kind"] == "host":
            rules.hosts.add(value)
            host = value
        elif entry["kind"] == "prefix":
            host, slash, path = value.partition("/")
            rules.prefixes.setdefault(host, []).append(slash + path)
        else:
            rules.urls.add(value)
            host = value.partition("://")[2].partition("/")[0]
            rules.urls_hosts.add(host)
        rules.names.update(_above(_name(host)))
    return rules


def _may_hit(rules: Rules, file: Any, number: int) -> bool:
    """Whether a row of the group is of a domain that a rule is about. Bounds in the footer are its writer's word, so they are not asked."""
    import pyarrow.compute as pc

    return any(map(rules.concerns, _texts({"domain": pc.unique(file.read_row_group(number, columns=["domain"]).column("domain"))}, "domain")))


def hidden_texts(file: Any, rules: Rules) -> Dict[str, Set[int]]:
    """By column, the positions of rows with the text of a hidden URL there: what was requested, and what was typed; and where either leads to. The
    rows themselves stay, with null there."""
    names = [name for name in ("requested_url", "raw_url") if name in file.schema_arrow.names]
    found: Dict[str, Set[int]] = {name: set() for name in names}
    first = 0
    for number in range(file.num_row_groups):
        for name in names:
            hit = rules.hit_urls(file.read_row_group(number, columns=[name]).column(name).combine_chunks())
            found[name].update(first + at for at in hit)
        first += file.metadata.row_group(number).num_rows
    if "locator" in file.schema_arrow.names:
        found["locator"] = set().union(*found.values())
    return found


def _texts(table: Any, name: str) -> List[Any]:
    import pyarrow

    column = table[name]

    if pyarrow.types.is_binary(column.type):
        return [None if value is None else value.decode("utf-8", "replace") for value in column.to_pylist()]
    return list(column.to_pylist())


def hidden_rows(file: Any, rules: Rules) -> List[int]:
    """Positions, ascending, of the rows that rules hide. file: a pyarrow.parquet.ParquetFile."""
    columns = ["domain", "scheme", "host", "path_query"]
    found: List[int] = []
    first = 0
    for number in range(file.num_row_groups):
        hit: Set[int] = set()
        if _may_hit(rules, file, number):
            table = file.read_row_group(number, columns=columns)
            known: Dict[Tuple[str, str], bool] = {}
            for at, (domain, scheme, host, path) in enumerate(zip(*(_texts(table, name) for name in columns))):
                whole = known.get((domain, host))
                if whole is None:
                    whole = known[(domain, host)] = rules.hits_host(domain, host)
                if whole or rules.hits(scheme, host, path):
                    hit.add(at)
        found += [first + at for at in sorted(hit)]
        first += file.metadata.row_group(number).num_rows
    return found


def faulty_rows(file: Any, canon: Canonicaliser) -> List[int]:
    """Positions, ascending, of rows that are not those of a canonical URL."""
    import pyarrow
    import pyarrow.compute as pc

    names = file.schema_arrow.names
    ids = [name for name in ("domain_id", "url_id") if name in names]
    found: List[int] = []
    first = 0
    for number in range(file.num_row_groups):
        table = file.read_row_group(number, columns=["domain", "scheme", "host", "path_query", *ids]).combine_chunks()
        parts = {name: pyarrow.array(_texts(table, name), pyarrow.string()) for name in ("domain", "scheme", "host", "path_query")}
        text = pc.binary_join_element_wise(parts["scheme"], "://", parts["host"], parts["path_query"], "")
        form = canon.batch(text)
        sound = pc.equal(form.column("url"), text)
        for name in ("domain", "scheme", "host", "path_query"):
            sound = pc.and_kleene(sound, pc.equal(form.column(name), parts[name]))
        for name in ids:
            given = table.column(name).cast(pyarrow.uint64(), safe=False)
            right = pc.equal(given, form.column(name))
            sound = pc.and_kleene(sound, pc.or_kleene(right, pc.equal(given, 0)) if name == "url_id" else right)
        for at, good in enumerate(pc.fill_null(sound, False).to_pylist()):
            if not good:
                found.append(first + at)
        first += file.metadata.row_group(number).num_rows
    return found


def left_out(file: Any, rules: Optional[Rules], canon: Optional[Canonicaliser]) -> List[int]:
    """Of both. rules None: nothing is hidden; canon None: no row is faulty."""
    positions: Set[int] = set(hidden_rows(file, rules) if rules else ())
    if canon is not None:
        positions.update(faulty_rows(file, canon))
    return sorted(positions)
