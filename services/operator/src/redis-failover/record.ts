/**
 * The record of the promoted Redis. The ConfigMap in the environment's namespace counts: pods of Redis read it when they start, and it
 * outlives the environment with the data. The status has a copy, from which a ConfigMap that was deleted is written again.
 */
import { jsonFields } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import { z } from "zod";
import { MANAGER } from "../applier.js";
import { childOf } from "../desired/labels.js";
import { PRIMARY_KEY, REDIS_PRIMARY } from "../desired/redis.js";

export interface PrimaryRecord {
  /** Ordinal of the pod that writes. */
  readonly ordinal: number;
  /** How often a replica was promoted. */
  readonly promotions: number;
  /** ISO time of the last promotion; undefined before the first. */
  readonly since: string | undefined;
  /** Version of the ConfigMap; undefined: there is none. */
  readonly version: string | undefined;
}

type RecordClient = Pick<KubernetesClient, "find" | "apply" | "create">;

const stored = z.object({
  [PRIMARY_KEY]: z.string().regex(/^redis-[0-2]$/),
  promotions: z.coerce.number().int().min(1),
  since: z.iso.datetime(),
});

/** Rejects with the API server's error. */
export async function readPrimary(
  environment: EnvironmentResource,
  client: RecordClient,
  signal: AbortSignal,
): Promise<PrimaryRecord> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const existing = await client.find(resources.configMaps, REDIS_PRIMARY, namespace, { signal });
  const version = existing?.metadata.resourceVersion;
  const parsed = stored.safeParse(jsonFields(existing?.["data"]));
  if (parsed.success) {
    const { primary, promotions, since } = parsed.data;
    return { ordinal: ordinalOf(primary), promotions, since, version };
  }
  const copy = environment.status?.data?.redisPrimary;
  if (copy === undefined) return { ordinal: 0, promotions: 0, since: undefined, version };
  const { pod, promotions, since } = copy;
  return writePrimary(environment, { ordinal: ordinalOf(pod), promotions, since, version }, client, signal);
}

/** Replaces the record that was read as `version`. Rejects with a conflict when it has changed since. */
export async function writePrimary(
  environment: EnvironmentResource,
  record: PrimaryRecord,
  client: RecordClient,
  signal: AbortSignal,
): Promise<PrimaryRecord> {
  const data = { [PRIMARY_KEY]: podOf(record), promotions: String(record.promotions), since: record.since ?? "" };
  // It has no owner: it is kept with the volumes that it is about.
  const object = childOf(
    environment,
    { ...resources.configMaps, name: REDIS_PRIMARY, component: "redis", isOwned: false },
    { data },
  );
  const { version } = record;
  const written: KubeObject =
    version === undefined
      ? await client.create(object, { signal, manager: MANAGER })
      : await client.apply(
          { ...object, metadata: { ...object.metadata, resourceVersion: version } },
          { manager: MANAGER, force: true, signal },
        );
  return { ...record, version: written.metadata.resourceVersion };
}

export const podOf = ({ ordinal }: Pick<PrimaryRecord, "ordinal">): string => `redis-${ordinal}`;
const ordinalOf = (pod: string): number => Number(pod.slice("redis-".length));
