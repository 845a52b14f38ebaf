/** Prepares the inputs of a container: directories for its volumes, and variables from the pod, Secrets and ConfigMaps. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type KubeObject, type KubernetesClient, type Resource, resources } from "@perdure/kubernetes";
import { REFERENCE_POLL_MS } from "./limits.js";
import type { ContainerSpec, Pod, Variable, Volume } from "./pod-spec.js";

type Data = Readonly<Record<string, string>>;

/** Resolves the references of a pod. */
export class References {
  readonly #client: KubernetesClient;
  readonly #namespace: string;
  readonly #signal: AbortSignal;

  constructor(client: KubernetesClient, namespace: string, signal: AbortSignal) {
    this.#client = client;
    this.#namespace = namespace;
    this.#signal = signal;
  }

  async secret(name: string, isOptional = false): Promise<Data> {
    const { data = {} } = (await this.#wait(resources.secrets, name, isOptional)) as { readonly data?: Data };
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
  }

  async configMap(name: string, isOptional = false): Promise<Data> {
    return ((await this.#wait(resources.configMaps, name, isOptional)) as { readonly data?: Data }).data ?? {};
  }

  /** The pod waits for it, as kubelets let it. */
  async #wait(resource: Resource, name: string, isOptional: boolean): Promise<KubeObject | object> {
    for (;;) {
      const object = await this.#client.find(resource, name, this.#namespace, { signal: this.#signal });
      if (object !== undefined) return object;
      if (isOptional) return {};
      await sleep(REFERENCE_POLL_MS, undefined, { signal: this.#signal });
    }
  }
}

// ── volumes ──────────────────────────────────────────────────────────────────────────────────────

/** Directories by the names of volumes. Those of claims are in `claims` and stay when the pod goes. */
export async function makeVolumes(
  volumes: readonly Volume[],
  directory: string,
  claims: string,
  references: References,
): Promise<ReadonlyMap<string, string>> {
  const made = new Map<string, string>();
  for (const volume of volumes) {
    const claim = volume.persistentVolumeClaim?.claimName;
    const path = claim === undefined ? join(directory, "volumes", volume.name) : join(claims, claim);
    await mkdir(path, { recursive: true });
    for (const [file, content] of await contentOf(volume, references)) {
      await mkdir(dirname(join(path, file)), { recursive: true });
      await writeFile(join(path, file), content, { mode: 0o600 });
    }
    made.set(volume.name, path);
  }
  return made;
}

async function contentOf(
  { name, secret, configMap, emptyDir, persistentVolumeClaim }: Volume,
  references: References,
): Promise<readonly (readonly [string, string])[]> {
  if (emptyDir !== undefined || persistentVolumeClaim !== undefined) return [];
  if (secret !== undefined) return chosen(await references.secret(secret.secretName, secret.optional), secret.items);
  if (configMap !== undefined) return chosen(await references.configMap(configMap.name, configMap.optional), configMap.items);
  throw new Error(`the volume ${name} is of a kind that this kubelet does not know`);
}

function chosen(
  data: Data,
  items: readonly { readonly key: string; readonly path: string }[] | undefined,
): readonly (readonly [string, string])[] {
  return items === undefined ? Object.entries(data) : items.map(({ key, path }) => [path, data[key] ?? ""] as const);
}

// ── variables ────────────────────────────────────────────────────────────────────────────────────

export async function variablesOf(
  container: ContainerSpec,
  pod: Pod,
  facts: Data,
  references: References,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const { configMapRef, secretRef, prefix = "" } of container.envFrom ?? []) {
    const data = {
      ...(configMapRef === undefined ? {} : await references.configMap(configMapRef.name)),
      ...(secretRef === undefined ? {} : await references.secret(secretRef.name)),
    };
    for (const [name, value] of Object.entries(data)) values[`${prefix}${name}`] = value;
  }
  for (const variable of container.env ?? []) {
    const value = await valueFor(variable, pod, facts, references);
    if (value !== undefined) values[variable.name] = expanded(value, values);
  }
  return values;
}

async function valueFor(
  { name, value, valueFrom }: Variable,
  pod: Pod,
  facts: Data,
  references: References,
): Promise<string | undefined> {
  if (valueFrom === undefined) return value ?? "";
  const { fieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef !== undefined) return fieldOf(fieldRef.fieldPath, pod, facts);
  if (secretKeyRef !== undefined)
    return keyOf(await references.secret(secretKeyRef.name, secretKeyRef.optional), secretKeyRef, name);
  if (configMapKeyRef !== undefined) {
    return keyOf(await references.configMap(configMapKeyRef.name, configMapKeyRef.optional), configMapKeyRef, name);
  }
  throw new Error(`the variable ${name} comes from a source that this kubelet does not read`);
}

function keyOf(data: Data, { key, optional = false }: { readonly key: string; readonly optional?: boolean }, name: string) {
  const value = data[key];
  if (value === undefined && !optional) throw new Error(`the variable ${name} refers to the key ${key}, which is not there`);
  return value;
}

function fieldOf(path: string, { metadata }: Pod, facts: Data): string {
  const [, map, key] = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path) ?? [];
  if (key !== undefined) return metadata[map as "labels" | "annotations"]?.[key] ?? "";
  const value = facts[path];
  if (value === undefined) throw new Error(`${path} is not a field that this kubelet knows`);
  return value;
}

/** `$(NAME)` is a variable, `$$(NAME)` is a text, and what leads nowhere stays as it is. */
export function expanded(text: string, values: Data): string {
  return text.replace(/\$(\$|\(([A-Za-z_][A-Za-z0-9_.-]*)\))/g, (all, rest: string, name: string | undefined) => {
    if (rest === "$") return "$";
    return values[name as string] ?? all;
  });
}

/**
 * Maps a path below a mount to one below its directory, because programs here share one file system with all others. Only whole values are
 * paths; a path inside another text is not changed.
 */
export function rewriterOf(container: ContainerSpec, volumes: ReadonlyMap<string, string>): (value: string) => string {
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath, subPath }) => {
    const directory = volumes.get(name);
    if (directory === undefined) throw new Error(`the container ${container.name} mounts ${name}, which is not a volume`);
    return { mountPath, directory: subPath === undefined ? directory : join(directory, subPath) };
  });
  return (value) => {
    const mount = mounts.find(({ mountPath }) => value === mountPath || value.startsWith(`${mountPath}/`));
    return mount === undefined ? value : `${mount.directory}${value.slice(mount.mountPath.length)}`;
  };
}
