/** Objects that the API server rejects because of their content. */
import { KubernetesApiError } from "@perdure/kubernetes";

/** Server-side apply answers 500 to a field that no schema has; that does not become better by trying again. */
export async function takingSchemasSeriously(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const isSchema = cause instanceof KubernetesApiError && cause.status === 500 && /not declared in schema/.test(cause.message);
    if (!isSchema) throw cause;
    throw new KubernetesApiError(cause.operation, 422, JSON.stringify({ message: cause.message, reason: "Invalid" }));
  }
}
