# SPDX-License-Identifier: Apache-2.0
"""corpus - made-up records whose canonical form is known because they are made from it.

    for raw, want in corpus.rows(seed=1, count=50000): ...
        raw:  (dataset, ts text, url text, extra)      one line of a TSV
        want: (domain, dataset, url, ts or None, extra), or None for a row to be refused

A canonical URL is drawn first and then written as people write it: capitals in scheme and host, a
default port, a user, a fragment, percent-encoding that need not be, `.` and `..`, double
slashes, query pairs in another order. So nothing here parses a URL, and an error in a parser
cannot hide in its own test.
"""
import random

SUFFIXES = ("com", "org", "net", "de", "co.uk", "com.au", "github.io", "blogspot.com", "jp", "io")
IDN = (("bücher", "xn--bcher-kva"), ("münchen", "xn--mnchen-3ya"), ("例え", "xn--r8jz45g"),
       ("пример", "xn--e1afmkfd"), ("δοκιμή", "xn--jxalpdlp"))
WORDS = ("a", "b", "news", "2024", "index.html", "x_y", "item-7", "wiki", "Main_Page", "q~1", "img",
         "%E4%BD%A0", "%20", "c%2Fd", "p;v=1", "@me", "a+b", "!x", "(y)", "k=v", "caf%C3%A9")
KEYS = ("a", "b", "id", "q", "page", "utm_source", "x%5B%5D", "B", "")
VALUES = ("", "1", "2", "hello", "a+b", "%C3%BC", "http://x/", "a%26b", "~", "-")
UNRESERVED = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def _zipf(rng, n):
    """0..n-1, small ones often."""
    return min(n - 1, int(n ** rng.random()) - 1)


class _Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        rng = self.rng
        self.sites = []
        for i in range(4000):
            if i % 97 == 5:
                shown, label = rng.choice(IDN)
                shown, label = f"{shown}{i}", None
                # An IDN label with digits behind it: its A-label comes from RFC 3492 itself.
                label = "xn--" + shown.encode("punycode").decode("ascii")
            else:
                shown = label = f"{rng.choice(('site', 'my-blog', 'w', 'shop'))}{i}"
            suffix = SUFFIXES[_zipf(rng, len(SUFFIXES))]
            self.sites.append((f"{shown}.{suffix}", f"{label}.{suffix}"))

    def canonical(self):
        """scheme, host as shown, host as A-labels, port, path segments, query pairs, domain."""
        rng = self.rng
        if rng.random() < 0.01:
            ip = f"192.0.2.{_zipf(rng, 250)}"
            shown = host = domain = ip
        else:
            shown, domain = self.sites[_zipf(rng, len(self.sites))]
            sub = rng.choice(("", "", "", "www.", "www.", "m.", "a.b."))
            shown, host = sub + shown, sub + domain
        scheme = rng.choice(("http", "https", "https", "https"))
        port = rng.choice((8080, 81)) if rng.random() < 0.03 else None
        segments = [rng.choice(WORDS) for _ in range(_zipf(rng, 6))]
        if rng.random() < 0.5:
            segments.append(str(_zipf(rng, 500)))
        slash = rng.random() < 0.3
        pairs = None
        if rng.random() < 0.4:
            pairs = []
            for _ in range(1 + _zipf(rng, 4)):
                key = rng.choice(KEYS)
                value = rng.choice((None, *VALUES))
                if key or value is not None:
                    pairs.append((key, value))
            pairs = pairs or None
        return scheme, shown, host, port, segments, slash, pairs, domain

    @staticmethod
    def _pair(pair):
        return pair[0] if pair[1] is None else f"{pair[0]}={pair[1]}"

    def url(self, made):
        scheme, _, host, port, segments, slash, pairs, _ = made
        path = "/" + "/".join(segments) + ("/" if slash and segments else "")
        query = ""
        if pairs:
            query = "?" + "&".join(map(self._pair, sorted(pairs, key=lambda p: p[0])))
        return f"{scheme}://{host}{f':{port}' if port else ''}{path}{query}"

    def _encode_some(self, text):
        """Some unreserved characters as %XX, hex digits of what is encoded in any case."""
        rng, out, i = self.rng, [], 0
        while i < len(text):
            if text[i] == "%":
                out.append(text[i:i + 3].lower() if rng.random() < 0.5 else text[i:i + 3])
                i += 3
                continue
            if text[i] in UNRESERVED and text[i] != "." and rng.random() < 0.03:
                code = f"%{ord(text[i]):02x}"
                out.append(code.upper() if rng.random() < 0.5 else code)
            else:
                out.append(text[i])
            i += 1
        return "".join(out)

    def spelled(self, made):
        """The same URL as somebody might write it."""
        rng = self.rng
        scheme, shown, host, port, segments, slash, pairs, _ = made
        name = shown if rng.random() < 0.7 else host
        if rng.random() < 0.3:
            name = "".join(c.upper() if c.isascii() and rng.random() < 0.5 else c for c in name)
        if port:
            name += f":{port}"
        elif rng.random() < 0.05:
            name += ":443" if scheme == "https" else ":80"
        user = rng.choice(("user@", "user:secret@")) if rng.random() < 0.02 else ""
        path = ""
        for segment in segments:
            noise = rng.random()
            path += "//" if noise < 0.03 else "/./" if noise < 0.06 else (
                "/gone/../" if noise < 0.09 else "/%2E/" if noise < 0.1 else "/")
            path += self._encode_some(segment)
        if segments and slash:
            path += "//" if rng.random() < 0.1 else "/"
        elif not segments and rng.random() < 0.5:
            path = "/"
        query = ""
        if pairs:
            # The order of pairs with one key says something and stays; keys may change places.
            mixed = list(pairs)
            keys = [p[0] for p in mixed]
            rng.shuffle(keys)
            waiting = {key: [p for p in pairs if p[0] == key] for key in set(keys)}
            mixed = [waiting[key].pop(0) for key in keys]
            query = "?" + self._encode_some("&".join(map(self._pair, mixed)))
        if query and not path:
            path = "/"
        fragment = rng.choice(("#top", "#", "#a?b=c")) if rng.random() < 0.1 else ""
        scheme = scheme.upper() if rng.random() < 0.03 else scheme
        return f"{scheme}://{user}{name}{path}{query}{fragment}"


REFUSED = ("", "mailto:someone@example.com", "http://", "https://exa mple.com/", "http://co.uk/",
           "ftp//", "javascript:alert(1)", "http://example.com:99999/", "http://[::1/")


def rows(seed=1, count=50000):
    maker = _Maker(seed)
    rng = maker.rng
    earlier = []
    for i in range(count):
        dataset = f"set-{_zipf(rng, 300):03d}"
        if rng.random() < 0.01:
            yield (dataset, "", rng.choice(REFUSED), ""), None
            continue
        ts = "" if rng.random() < 0.1 else str(1262304000 + rng.randrange(400_000_000))
        extra = "" if rng.random() < 0.7 else f"tag {rng.randrange(9)}"
        if earlier and rng.random() < 0.1:  # a duplicate, spelled another way perhaps
            dataset, ts, made, extra = rng.choice(earlier)
            if rng.random() < 0.3:
                extra = f"tag {rng.randrange(9)}"
        else:
            made = maker.canonical()
        if i % 5 == 0:
            earlier.append((dataset, ts, made, extra))
        yield ((dataset, ts, maker.spelled(made), extra),
               (made[-1], dataset, maker.url(made), int(ts) if ts else None, extra))
