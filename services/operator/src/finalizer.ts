/**
 * Adds and removes the finalizer that keeps one of our objects until what it leaves behind is cleaned up. Each write is conditional on the
 * state that was read.
 */
import { isNotFound, type KubernetesClient, type MetadataOnly, type Resource } from "@perdure/kubernetes";

/** Rejects with a failed test (patch) when the object has changed since it was read; the caller then reconciles again. */
export async function addFinalizer(
  resource: Resource,
  { metadata }: MetadataOnly,
  finalizer: string,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, finalizers = [], resourceVersion } = metadata;
  if (finalizers.includes(finalizer)) return;
  const guard = { op: "test", path: "/metadata/resourceVersion", value: resourceVersion } as const;
  const added = { op: "add", path: "/metadata/finalizers", value: [...finalizers, finalizer] } as const;
  await client.patch(resource, { name, namespace }, [guard, added], { signal });
}

/** Removes the finalizer of exactly this object; does nothing when it is deleted. */
export async function removeFinalizer(
  resource: Resource,
  { metadata }: MetadataOnly,
  finalizer: string,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace } = metadata;
  const fresh = await client.find(resource, name, namespace, { signal });
  const { finalizers = [], uid } = fresh?.metadata ?? {};
  const index = finalizers.indexOf(finalizer);
  if (index < 0 || uid !== metadata.uid) return;
  const path = `/metadata/finalizers/${index}`;
  const operations = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ] as const;
  try {
    await client.patch(resource, { name, namespace }, operations, { signal });
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
  }
}
