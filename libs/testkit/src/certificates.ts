/** Why: encrypted connections are tested with real certificates, made by the machine's openssl for one test run. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** PEM texts: a certificate for 127.0.0.1 and localhost, its key (PKCS #8), and the authority that signed it. */
export interface Certificates {
  readonly authority: string;
  readonly certificate: string;
  readonly privateKey: string;
}

/** Of two authorities that know nothing of each other. */
export function makeCertificates(): { readonly trusted: Certificates; readonly stranger: Certificates } {
  const directory = mkdtempSync(join(tmpdir(), "perdure-tls-"));
  try {
    return { trusted: issue(directory, "house"), stranger: issue(directory, "elsewhere") };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function issue(directory: string, name: string): Certificates {
  const file = (suffix: string) => join(directory, `${name}${suffix}`);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...key, "-keyout", file("-ca.key"), "-out", file("-ca.pem"), "-subj", `/CN=${name}`, "-days", "1");
  openssl("req", ...key, "-keyout", file(".key"), "-out", file(".csr"), "-subj", "/CN=role");
  writeFileSync(file(".ext"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  const authority = ["-CA", file("-ca.pem"), "-CAkey", file("-ca.key"), "-CAcreateserial"];
  openssl("x509", "-req", "-in", file(".csr"), ...authority, "-out", file(".pem"), "-days", "1", "-extfile", file(".ext"));
  const read = (suffix: string) => readFileSync(file(suffix), "utf8");
  return { authority: read("-ca.pem"), certificate: read(".pem"), privateKey: read(".key") };
}
