/** The public listeners (gateway, relay, Cloud API): certificates from files, and for gateway and relay the wait for tenancy. */
import { openChannel, type PeerCredentials, RemoteTenancy } from "@perdure/grpc";
import { type Certificate, WatchedCertificate } from "@perdure/http-server";
import { duration, group, optionalText, type ProcessPorts } from "@perdure/process-kit";
import { readPublicCertificate } from "@perdure/process-kit/http";
import { required } from "./settings.js";

/** `about`: the purpose of the certificate, for users. */
export const publicTlsSettings = (comment: string, about: string) =>
  group(`${comment}; cleartext when no file is named.`, {
    certificateFile: optionalText({ sentence: `PEM file with the certificate for ${about}, and its chain.` }),
    privateKeyFile: optionalText({ sentence: "PEM file with its private key." }),
    checkInterval: duration("10s", { sentence: "How often the files are checked for changes (duration).", minMs: 100 }),
  });

interface PublicTls {
  readonly certificateFile?: string | undefined;
  readonly privateKeyFile?: string | undefined;
  readonly checkInterval: number;
}

interface TenancyConnection {
  /** `host:port`, at least one. */
  readonly addresses: readonly string[];
  readonly tls: PeerCredentials | undefined;
  readonly name: string;
}

/** A part of the lifecycle. Undefined without files: then listeners are cleartext. Rejects with OPS0001 when a file cannot be used. */
export async function openPublicCertificate(
  publicTls: PublicTls,
  { lifecycle, clock, logger }: ProcessPorts,
): Promise<WatchedCertificate<Certificate> | undefined> {
  if (publicTls.certificateFile === undefined && publicTls.privateKeyFile === undefined) return undefined;
  const certificateFile = await lifecycle.prepare(() => required("public-tls.certificate-file", publicTls.certificateFile));
  const privateKeyFile = await lifecycle.prepare(() => required("public-tls.private-key-file", publicTls.privateKeyFile));
  const read = () => readPublicCertificate({ certificateFile, privateKeyFile });
  const options = { read, file: certificateFile, checkMs: publicTls.checkInterval };
  const part = await lifecycle.start("certificate", () => {
    const watched = new WatchedCertificate(options, { clock, logger });
    return { watched, [Symbol.asyncDispose]: async () => watched[Symbol.dispose]() };
  });
  return part.watched;
}

/**
 * Connects to tenancy as a part of the lifecycle, and resolves when tenancy has sent its first change: without tenancy no request can be
 * authenticated, so the process must not be ready. `name`: of what is waited for, in `/readyz`.
 */
export async function openTenancy(
  { addresses, tls, name }: TenancyConnection,
  { lifecycle, clock, logger }: Pick<ProcessPorts, "lifecycle" | "clock" | "logger">,
): Promise<RemoteTenancy> {
  const { tenancy } = await lifecycle.start("tenancy", () => {
    const channels = addresses.map((address) => openChannel(address, tls));
    return {
      tenancy: new RemoteTenancy({ channels, clock, logger: logger.child({ component: "tenancy" }) }),
      async [Symbol.asyncDispose]() {
        for (const channel of channels) channel.close();
      },
    };
  });
  await lifecycle.awaitPart(name, () => firstChange(tenancy, lifecycle.stopping));
  return tenancy;
}

/** Resolves also when the process stops. */
function firstChange(tenancy: RemoteTenancy, stopping: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  tenancy.watch(() => resolve(), { signal: AbortSignal.any([stop.signal, stopping]) });
  stopping.addEventListener("abort", () => resolve(), { once: true });
  return promise.finally(() => stop.abort());
}
