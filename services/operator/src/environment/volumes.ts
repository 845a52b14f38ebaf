/**
 * Enlarges volumes. Claim templates are immutable, so a volume grows in an order in which nothing is lost when a step is refused: first the
 * claims; when they have grown, exactly the StatefulSet that was read is deleted without its pods and created again; the new one adopts the
 * pods (kubernetes.md §2).
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { KubernetesApiError, type KubernetesClient, resources } from "@perdure/kubernetes";
import { redisPods } from "../desired/redis.js";
import { quantityOf } from "../desired/sizes.js";
import { WAIT_SOON_MS } from "../limits.js";
import { parsed, parseVolumeClaim, parseWorkload, type Workload } from "../observed-objects.js";
import { bad, type StepOutcome } from "./outcome.js";
import type { PrunePorts } from "./prune.js";

const TYPE = "StorageReady";

/** Undefined when the StatefulSet may be applied; otherwise the reason to wait. Rejects with the API server's error. */
export async function growVolumes(
  environment: EnvironmentResource,
  cached: Workload | undefined,
  { client, applier }: Pick<PrunePorts, "client" | "applier">,
  signal: AbortSignal,
): Promise<StepOutcome | undefined> {
  const desired = environment.spec.redis.bundled?.size;
  if (desired === undefined || cached === undefined || !needsGrowth(cached, desired)) return undefined;
  const namespace = objectNameOf(environment.spec.environmentId);
  const set = parsed(await client.find(resources.statefulSets, "redis", namespace, { signal }), parseWorkload);
  if (set === undefined || !needsGrowth(set, desired)) return undefined;
  for (let n = 0; n < redisPods(environment); n++) {
    const grown = await growClaim(`data-redis-${n}`, namespace, desired, client, signal);
    if (grown !== undefined) return grown;
  }
  const { uid, resourceVersion } = set.metadata;
  applier.discardObject(resources.statefulSets, "redis", namespace);
  await client.delete(resources.statefulSets, "redis", namespace, {
    propagation: "Orphan",
    signal,
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  });
  return bad(TYPE, "Resizing", "the StatefulSet of Redis is being created again; its pods stay", WAIT_SOON_MS);
}

function needsGrowth(set: Workload, desired: string): boolean {
  const current = set.spec?.volumeClaimTemplates?.[0]?.spec?.resources?.requests?.storage;
  return current !== undefined && quantityOf(current) < quantityOf(desired);
}

/** Undefined when the claim is large enough, or does not exist: it is created with the new size. */
async function growClaim(
  name: string,
  namespace: string,
  desired: string,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<StepOutcome | undefined> {
  const claim = parsed(await client.find(resources.volumeClaims, name, namespace, { signal }), parseVolumeClaim);
  if (claim === undefined) return undefined;
  const requested = claim.spec?.resources?.requests?.storage ?? "0";
  if (quantityOf(requested) < quantityOf(desired)) {
    try {
      const path = "/spec/resources/requests/storage";
      await client.patch(resources.volumeClaims, { name, namespace }, [{ op: "replace", path, value: desired }], { signal });
    } catch (cause) {
      // The storage class does not allow this growth: nothing was deleted, and nothing will be.
      if (cause instanceof KubernetesApiError && (cause.status === 403 || cause.status === 422))
        return bad(TYPE, "ResizeFailed", cause.message);
      throw cause;
    }
  }
  const capacity = claim.status?.capacity?.storage;
  if (capacity !== undefined && quantityOf(capacity) >= quantityOf(desired)) return undefined;
  return bad(TYPE, "Resizing", `volume ${name} grows to ${desired}`, WAIT_SOON_MS);
}
