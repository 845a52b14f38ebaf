/** Certificates between the processes of a cluster: read again when the files are replaced; a metric shows when they expire. */
import { invariant } from "@perdure/base";
import type { MutualTls, PeerCredentials } from "@perdure/grpc";
import { WatchedCertificate } from "@perdure/http-server";
import type { ProcessPorts } from "@perdure/process-kit";
import { checkPair, observeCertificate } from "@perdure/process-kit/http";
import type { z } from "zod";
import { peerCredentialsOf, type tlsSettings } from "./settings.js";

const METRIC = "perdure_peer_tls_cert_expiry_seconds";
const HELP = "Seconds until the certificate that this process presents to the cluster expires";

/** A part of the lifecycle. Undefined: no authentication. Rejects with OPS0001 when a file is missing, or cannot be used. */
export async function openPeerCredentials(
  settings: z.output<typeof tlsSettings>,
  { lifecycle, metrics, clock, logger }: Pick<ProcessPorts, "lifecycle" | "metrics" | "clock" | "logger">,
): Promise<PeerCredentials | undefined> {
  const first = await lifecycle.prepare(() => peerCredentialsOf(settings));
  if (first === undefined || !("authority" in first)) {
    observeCertificate(metrics, METRIC, undefined, HELP);
    return first;
  }
  const read = (): MutualTls => {
    const pair = peerCredentialsOf(settings);
    invariant(pair !== undefined && "authority" in pair, "the settings name the same files as before");
    checkPair("tls", pair);
    return pair;
  };
  const options = { read, file: settings.certificateFile ?? "", checkMs: settings.checkInterval };
  const part = await lifecycle.start("peer certificate", () => {
    const watched = new WatchedCertificate(options, { clock, logger });
    return { watched, [Symbol.asyncDispose]: async () => watched[Symbol.dispose]() };
  });
  observeCertificate(metrics, METRIC, part.watched, HELP);
  return part.watched;
}
