# SPDX-License-Identifier: Apache-2.0
"""authority - certificates for tests, by openssl.

    authority = Authority(folder)
    authority.issue("name", days=30)       folder/name.pem, folder/name.key: of localhost and 127.0.0.1
    authority.context(alpn=["http/1.1"])   an ssl.SSLContext that trusts them
"""
import datetime
import shutil
import ssl

import dxtest

OPENSSL = shutil.which("openssl")


class Authority:
    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "ca.pem"
        self.key = folder / "ca.key"
        dxtest.run(OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key, "-out", self.file, "-days", 100, "-subj", "/CN=authority")

    def issue(self, name, days=30, start=-10, rsa=False):
        pem, key, request = (self.folder / f"{name}.{kind}" for kind in ("pem", "key", "csr"))
        kind = ("rsa:2048",) if rsa else ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
        dxtest.run(OPENSSL, "req", "-new", "-newkey", *kind, "-nodes", "-keyout", key, "-out", request, "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        start, end = (datetime.datetime.utcnow() + datetime.timedelta(days=n) for n in (start, days))
        (self.folder / "ca.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
        (self.folder / "ca.index").write_text("")
        (self.folder / "ca.cnf").write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={self.folder}/ca.index\nnew_certs_dir={self.folder}\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n")
        dxtest.run(OPENSSL, "ca", "-batch", "-notext", "-config", self.folder / "ca.cnf", "-cert", self.file, "-keyfile", self.key, "-in", request, "-out", pem,
                   "-startdate", start.strftime("%Y%m%d%H%M%SZ"), "-enddate", end.strftime("%Y%m%d%H%M%SZ"), "-extfile", self.folder / "ca.ext")
        return pem, key

    def context(self, alpn=("http/1.1",), client=None):
        context = ssl.create_default_context(cafile=self.file)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if client:
            context.load_cert_chain(*client)
        return context
