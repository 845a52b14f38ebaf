/**
 * Deletes a service. Its code goes with it, and invocations that need this code could never complete, so the deletion waits for them unless
 * an annotation, which cannot be copied from another object, forces it (kubernetes.md §1.2).
 */
import type { Logger } from "@perdure/base";
import type { ServiceDeployment } from "@perdure/custom-resources";
import { resources } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import { MANAGED_SELECTOR } from "../desired/labels.js";
import { removeFinalizer } from "../finalizer.js";
import type { AdminClients } from "./admin-clients.js";
import { removeObjects } from "./drain.js";
import { FINALIZER, FORCE_DELETE } from "./names.js";
import { type AdminTarget, type TargetPorts, targetOf } from "./target.js";
import { type ServiceVersion, versionsOf } from "./version.js";

type ServiceTeardown =
  | { readonly kind: "gone" }
  | { readonly kind: "waiting"; readonly reason: string; readonly message: string; readonly againMs: number };

interface ServiceTeardownPorts extends TargetPorts {
  readonly caches: Caches;
  readonly applier: ObjectApplier;
  readonly adminClients: AdminClients;
  readonly logger: Logger;
  readonly pollMs: number;
}

interface RegisteredVersion {
  readonly version: ServiceVersion;
  readonly id: string;
  readonly admin: AdminTarget;
}

/** One pass; returns `gone` after the finalizer is removed. Rejects with the API server's error. */
export async function teardown(
  deployment: ServiceDeployment,
  ports: ServiceTeardownPorts,
  signal: AbortSignal,
): Promise<ServiceTeardown> {
  const { metadata } = deployment;
  const { client, caches, applier, adminClients, logger, pollMs } = ports;
  if (!(metadata.finalizers ?? []).includes(FINALIZER)) return { kind: "gone" };
  const isForced = metadata.annotations?.[FORCE_DELETE] === metadata.uid;
  // Read from the API server: the local copy may lack a recent annotation, and its registration would stay for ever.
  const list = {
    signal,
    labels: MANAGED_SELECTOR,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  };
  const { items } = await client.list(resources.replicaSets, list);
  const versions = versionsOf(deployment, { values: () => items });
  const registered = await registeredOf(deployment, versions, ports, signal);
  if (typeof registered === "string" && !isForced) return waiting("InvalidReference", registered, pollMs);
  const all = typeof registered === "string" ? [] : registered;
  if (!isForced) {
    for (const { admin, id } of all) {
      const answer = await adminClients.readUsage(admin, [id], signal);
      if (answer.kind !== "answered") return waiting("Unreachable", answer.message, pollMs);
      const { pinned, running } = answer.value;
      const active = Math.max(pinned.get(id) ?? 0, running.get(id) ?? 0);
      if (active > 0) return waiting("InUse", `${active} unfinished invocations need deployment ${id}`, pollMs);
    }
  }
  for (const { admin, id } of all) {
    const answer = await adminClients.remove(admin, id, isForced, signal);
    if (answer.kind === "answered") continue;
    if (!isForced) return waiting(answer.kind === "refused" ? "InUse" : "Unreachable", answer.message, pollMs);
    logger.warn({ deploymentId: id, message: answer.message }, "deleted by force; its deployment stays registered");
  }
  // Garbage collection would delete them too, but later: a new service of this name would conflict with them.
  for (const version of versions) await removeObjects(deployment, version, { client, caches, applier }, signal);
  await removeFinalizer(resources.serviceDeployments, deployment, FINALIZER, client, signal);
  return { kind: "gone" };
}

const waiting = (reason: string, message: string, againMs: number): ServiceTeardown => ({
  kind: "waiting",
  reason,
  message,
  againMs,
});

/** Versions registered in an environment that still exists; a text when that is unknown. */
async function registeredOf(
  deployment: ServiceDeployment,
  versions: readonly ServiceVersion[],
  ports: TargetPorts,
  signal: AbortSignal,
): Promise<readonly RegisteredVersion[] | string> {
  const registered: RegisteredVersion[] = [];
  for (const version of versions) {
    if (version.deploymentId === undefined) continue;
    const target = await targetOf(version.registeredAt ?? deployment.spec.perdure.register, ports, signal);
    if (target.kind === "known") registered.push({ version, id: version.deploymentId, admin: target.admin });
    else if (!target.isGone) return target.message;
  }
  return registered;
}
