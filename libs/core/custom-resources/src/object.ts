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
}

/** One of our kinds as the API server has it: defaults are filled in. */
export interface CustomResource<K extends string, Spec, Status> {
  readonly apiVersion: "perdure.dev/v1alpha1";
  readonly kind: K;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status;
}
