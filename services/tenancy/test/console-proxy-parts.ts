/** What suites of the console's proxy share. */
import { execFileSync } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";

export type Script = (req: IncomingMessage, res: ServerResponse) => void;

/** A certificate that is its own authority. */
export function selfSigned(name: string): { certificate: string; privateKey: string } {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "-"];
  const about = ["-subj", "/CN=test", "-addext", `subjectAltName=DNS:${name}`, "-days", "1"];
  const text = execFileSync("openssl", ["req", "-x509", ...key, ...about], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const parts = text.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
  return { privateKey: parts[0] ?? "", certificate: parts[1] ?? "" };
}
