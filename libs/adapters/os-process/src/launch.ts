/** Translates the environment that tenancy requests into the settings of `perdure server` and the limits of its process. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { formatByteSize, formatDuration } from "@perdure/base";
import type { DesiredRuntime } from "@perdure/cloud";
import type { EnvironmentFiles, RuntimeLaunch } from "./files.js";
import { HEAP_MIB_MIN, HEAP_SHARE, SQL_BYTES_MAX, SQL_SHARE, SQL_TIMEOUT_MS } from "./limits.js";
import { LOOPBACK } from "./ports.js";

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

interface LaunchPorts {
  readonly ingressPort: number;
  readonly adminPort: number;
  /** The user that it runs as; undefined: the same as ours. */
  readonly uid?: number | undefined;
}

/** The program that runs for every environment. */
export interface RuntimeProgram {
  readonly path: string;
  readonly configFile: string | undefined;
  readonly egress: "guarded" | "open";
  /** Domains of the platform: a guarded runtime connects to nothing below them (cloud.md §6.6, T6). */
  readonly ownDomains: readonly string[];
  /** URL that runtimes send their traces to; undefined: as `configFile` says. */
  readonly tracingEndpoint: string | undefined;
}

/** Secrets are passed as names of files, because every user of the machine can read arguments. */
export function launchOf(
  desired: DesiredRuntime,
  { ingressPort, adminPort, uid }: LaunchPorts,
  files: EnvironmentFiles,
  { path, configFile, egress, ownDomains, tracingEndpoint }: RuntimeProgram,
): RuntimeLaunch {
  const { limits, mode, generation, environmentId, ingressUrl, tunnels } = desired;
  const sqlBytes = Math.min(SQL_BYTES_MAX, Math.floor(limits.memoryMibMax * SQL_SHARE) * MIB);
  const settings: Readonly<Record<string, string>> = {
    "base-dir": files.data,
    "cluster-name": environmentId,
    "log-format": "json",
    "request-identity-private-key-pem-file": files.signingKey,
    "runtime.secret-file": files.secret,
    "runtime.mode": mode,
    // A request must not choose it: a role that trusts one environment must not be lent to another.
    "aws-assume-role-external-id": environmentId,
    ...(tracingEndpoint === undefined ? {} : { "tracing-endpoint": tracingEndpoint }),
    "egress.policy": egress,
    "egress.own-domains": JSON.stringify(ownDomains),
    "egress.allow-plain-http": String(limits.plainHttpAllowed),
    "ingress.bind-address": LOOPBACK,
    "ingress.bind-port": String(ingressPort),
    "ingress.advertised-address": `${ingressUrl}/`,
    "ingress.request-size-limit": String(limits.bodyBytesMax),
    "admin.bind-address": LOOPBACK,
    "admin.bind-port": String(adminPort),
    "admin.query-engine.memory-size": formatByteSize(sqlBytes),
    "admin.query-engine.timeout": formatDuration(SQL_TIMEOUT_MS),
    "worker.threads": "1", // Many runtimes share the machine, and each has one heap of `heapMib`.
    "worker.default-journal-retention": formatDuration(Math.min(DAY_MS, limits.retentionMsMax)),
    "worker.max-journal-retention": formatDuration(limits.retentionMsMax),
    "worker.invoker.concurrent-invocations-limit": String(limits.concurrentInvocationsMax),
    "limits.deployments": String(limits.deploymentsMax),
    "limits.services": String(limits.servicesMax),
    "limits.subscriptions": String(limits.subscriptionsMax),
    "limits.stored-bytes": String(limits.storedBytesMax),
    "limits.retention": formatDuration(limits.retentionMsMax),
    ...(tunnels === undefined ? {} : { "tunnels.proxy-url": tunnels.proxyUrl, "tunnels.token-file": files.tunnelToken }),
  };
  const flags = configFile === undefined ? [] : [`--config-file=${configFile}`];
  const args = ["server", ...flags, ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)];
  const heapMib = Math.max(HEAP_MIB_MIN, Math.floor(limits.memoryMibMax * HEAP_SHARE));
  const hash = createHash("sha256");
  const common = configFile === undefined ? "" : readFileSync(configFile, "utf8");
  for (const part of [
    path,
    String(heapMib),
    String(limits.memoryMibMax),
    ...(uid === undefined ? [] : [String(uid)]),
    ...args,
    common,
    desired.signingKeyPem.reveal(),
    tunnels?.token.reveal() ?? "",
  ])
    hash.update(`${part.length}:${part}`);
  const fingerprint = hash.digest("hex");
  return { generation, heapMib, memoryMib: limits.memoryMibMax, uid, args, ingressPort, adminPort, fingerprint };
}
