import { z } from "zod";
import { GROUP_VERSION } from "./names.js";

/** The fields of the common envelope of Kubernetes objects that we read or write. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  /** Which writer owns which fields; its entries are checked where they are read. */
  readonly managedFields?: readonly unknown[];
}

const Envelope = z.looseObject({
  apiVersion: z.literal(GROUP_VERSION),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({}),
  status: z.looseObject({}).optional(),
});

/**
 * Whether an object from the API server is of our kind. The API server has validated `spec` and `status` against the definition that
 * `definitionOf` derives from the same zod schemas, and the operator reports a definition that lacks fields, so they are not validated again: an
 * object that a newer definition admits must not be ignored here.
 */
export function isResource(object: unknown, kind: string): boolean {
  const parsed = Envelope.safeParse(object);
  return parsed.success && parsed.data.kind === kind;
}

/** One of our kinds as the API server has it: defaults are filled in. */
export interface CustomResource<K extends string, Spec, Status> {
  readonly apiVersion: "perdure.dev/v1alpha1";
  readonly kind: K;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status;
}
