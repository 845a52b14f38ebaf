/**
 * Parses the built-in objects that the operator decides on. Only the fields that decisions read are checked; every other field stays as it
 * was received, because comparisons of desired and existing objects need it.
 */
import type { ObjectMeta } from "@perdure/custom-resources";
import type { KubeObject, MetadataOnly } from "@perdure/kubernetes";
import { z } from "zod";

const Count = z.int().min(0).exactOptional();
const Text = z.string().exactOptional();
const Texts = z.record(z.string(), z.string()).exactOptional();

const Metadata = z.looseObject({
  name: z.string(),
  namespace: Text,
  uid: Text,
  resourceVersion: Text,
  generation: Count,
  creationTimestamp: Text,
  deletionTimestamp: Text,
  labels: Texts,
  annotations: Texts,
  ownerReferences: z
    .array(z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() }))
    .exactOptional(),
  managedFields: z.array(z.unknown()).exactOptional(),
});

const envelope = {
  apiVersion: z.string(),
  kind: z.string(),
  // The schema does not name all fields of the type: the others are those that the operator only passes on.
  metadata: Metadata.transform((metadata): ObjectMeta => metadata),
};

const StorageRequest = z.looseObject({
  resources: z.looseObject({ requests: z.looseObject({ storage: Text }).exactOptional() }).exactOptional(),
});

const WorkloadSchema = z.looseObject({
  ...envelope,
  spec: z
    .looseObject({
      replicas: Count,
      updateStrategy: z.looseObject({ rollingUpdate: z.looseObject({ partition: Count }).exactOptional() }).exactOptional(),
      volumeClaimTemplates: z.array(z.looseObject({ spec: StorageRequest.exactOptional() })).exactOptional(),
    })
    .exactOptional(),
  status: z
    .looseObject({
      observedGeneration: Count,
      currentRevision: Text,
      updateRevision: Text,
      replicas: Count,
      readyReplicas: Count,
      updatedReplicas: Count,
      availableReplicas: Count,
    })
    .exactOptional(),
});

const ClaimSchema = z.looseObject({
  ...envelope,
  spec: StorageRequest.extend({ volumeName: Text }).exactOptional(),
  status: z.looseObject({ phase: Text, capacity: z.looseObject({ storage: Text }).exactOptional() }).exactOptional(),
});

const QuotaSchema = z.looseObject({
  ...envelope,
  status: z.looseObject({ hard: Texts, used: Texts }).exactOptional(),
});

const SecretSchema = z.looseObject({ ...envelope, type: Text, data: Texts });

/** A StatefulSet, Deployment or ReplicaSet. */
export type Workload = z.output<typeof WorkloadSchema>;
export type VolumeClaim = z.output<typeof ClaimSchema>;
export type Quota = z.output<typeof QuotaSchema>;
/** `data`: values in base64 by key. */
export type SecretObject = z.output<typeof SecretSchema>;

/** Each returns undefined when a field that the operator reads has another type than Kubernetes documents. */
export const parseWorkload = (object: unknown): Workload | undefined => WorkloadSchema.safeParse(object).data;
export const parseVolumeClaim = (object: unknown): VolumeClaim | undefined => ClaimSchema.safeParse(object).data;
export const parseQuota = (object: unknown): Quota | undefined => QuotaSchema.safeParse(object).data;
export const parseSecret = (object: unknown): SecretObject | undefined => SecretSchema.safeParse(object).data;
/**
 * Parses what a request returned; undefined when there is no such object. Throws for one that cannot be read, which must not count as absent:
 * absent keys are generated, and an absent workload has no pods. The error does not contain the object, which may be a Secret.
 */
export function parsed<T>(object: KubeObject | undefined, parse: (object: unknown) => T | undefined): T | undefined {
  if (object === undefined) return undefined;
  const result = parse(object);
  if (result === undefined) throw new Error(`${object.kind} ${object.metadata.name} has a field that cannot be read`);
  return result;
}

export const parseObject = (object: MetadataOnly): KubeObject | undefined => z.looseObject(envelope).safeParse(object).data;
