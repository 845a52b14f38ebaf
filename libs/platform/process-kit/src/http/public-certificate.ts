/** The public certificate of a process: read from the files that the settings name, checked, and shown as a metric. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { causeMessage, PerdureError } from "@perdure/base";
import type { Certificate } from "@perdure/http-server";
import type { Metrics } from "@perdure/telemetry";
import { readSettingFile } from "../setting-file.js";

interface CertificateFiles {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
}

/** Shows when the certificate ends; without one the metric has no series. */
export function observeCertificate(
  metrics: Metrics,
  name: string,
  certificate: { readonly expiresInSeconds: number } | undefined,
  help = "Seconds until the public TLS certificate expires",
): void {
  metrics.observedEach({ type: "gauge", name, help, labels: [], seriesMax: 1 }, () =>
    certificate === undefined ? [] : [{ labels: [], value: certificate.expiresInSeconds }],
  );
}

/** Throws OPS0001 when a file cannot be read, or the two do not belong together. */
export function readPublicCertificate({ certificateFile, privateKeyFile }: CertificateFiles): Certificate {
  const certificate = readSettingFile("public-tls.certificate-file", certificateFile);
  const privateKey = readSettingFile("public-tls.private-key-file", privateKeyFile);
  checkPair("public-tls", { certificate, privateKey });
  return { certificate, privateKey };
}

/** Throws OPS0001 unless certificate, key and authority can be used together. `group`: of the settings that name the files. */
export function checkPair(
  group: string,
  { certificate, privateKey, authority }: Certificate & { readonly authority?: string },
): void {
  try {
    new X509Certificate(certificate);
    if (authority !== undefined) new X509Certificate(authority);
    createSecureContext({ cert: certificate, key: privateKey, ...(authority === undefined ? {} : { ca: authority }) });
  } catch (cause) {
    const reason = causeMessage(cause);
    throw new PerdureError("OPS0001", `the files of '${group}' cannot be used together: ${reason}`, { cause });
  }
}
