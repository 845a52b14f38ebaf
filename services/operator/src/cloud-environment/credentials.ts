/**
 * Reads the API key of a hosted environment from a Secret of the operator's namespace when it is needed; the key is sent only to its
 * environment.
 */
import { Secret } from "@perdure/base";
import type { CloudEnvironment } from "@perdure/custom-resources";
import { type KubernetesClient, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { parsed, parseSecret } from "../observed-objects.js";

type ApiKeyResult = { readonly kind: "found"; readonly secret: Secret } | { readonly kind: "missing"; readonly message: string };

/** Rejects with the API server's error. */
export async function apiKeyOf(
  { spec }: CloudEnvironment,
  { client, cell }: { readonly client: KubernetesClient; readonly cell: Pick<Cell, "namespace"> },
  signal: AbortSignal,
): Promise<ApiKeyResult> {
  const { name, key } = spec.authentication.secretRef;
  const secret = parsed(await client.find(resources.secrets, name, cell.namespace, { signal }), parseSecret);
  const text = Buffer.from(secret?.data?.[key] ?? "", "base64")
    .toString()
    .trim();
  if (text === "") return { kind: "missing", message: `key '${key}' of Secret '${name}' is not there` };
  return { kind: "found", secret: new Secret(text) };
}
