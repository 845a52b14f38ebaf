/** Settings that are read from files and checked before anything is opened. */
import { type Clock, PerdureError, Secret } from "@perdure/base";
import { createRequestIdentity, type RequestIdentity } from "@perdure/endpoint-transport";
import { type ProcessPorts, readSettingFile, recordScopesOf, tunnelsOf } from "@perdure/process-kit";
import { checkAddress } from "@perdure/process-kit/http";
import type { StandaloneSettings } from "./config.js";
import type { CheckedSettings } from "./parts.js";
import type { GuardOptions } from "./runtime-guard.js";
import { checkThreads } from "./threads/thread-count.js";

export async function checkSettings(settings: StandaloneSettings, ports: ProcessPorts): Promise<CheckedSettings> {
  const { lifecycle } = ports;
  const checked = await readAccess(settings, ports);
  // Before any partition is led or work resumed: an unreachable server should not run handlers.
  await lifecycle.prepare(() => checkAddress(settings.ingress, "ingress.bind-port"));
  await lifecycle.prepare(() => checkAddress(settings.admin, "admin.bind-port"));
  await lifecycle.prepare(() => recordScopesOf(settings));
  await lifecycle.prepare(() => checkThreads(settings));
  return checked;
}

/** What each thread reads for itself. */
export async function readAccess(settings: StandaloneSettings, { lifecycle, clock }: ProcessPorts): Promise<CheckedSettings> {
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  const listenerGuards = await lifecycle.prepare(() => guardsOf(settings));
  const tunnels = await lifecycle.prepare(() => tunnelsOf(settings));
  return { identity, listenerGuards, tunnels };
}

/** Throws OPS0001 when the file with the secret cannot be read or is empty. */
function guardsOf({ runtime: { secretFile, mode } }: StandaloneSettings): GuardOptions {
  const isSuspended = mode === "suspended";
  if (secretFile === undefined) return { secret: undefined, isSuspended };
  const secret = readSettingFile("runtime.secret-file", secretFile).trim();
  if (secret === "") throw new PerdureError("OPS0001", `'runtime.secret-file' ${secretFile} is empty`);
  return { secret: new Secret(secret), isSuspended };
}

/** Throws OPS0001 when the file cannot be read or holds anything but one Ed25519 key. */
function identityOf({ requestIdentityPrivateKeyPemFile: file }: StandaloneSettings, clock: Clock): RequestIdentity | undefined {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}
