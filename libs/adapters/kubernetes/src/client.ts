/**
 * Requests of controllers to an API server, in raw JSON: server-side apply, lists in pages, watches, deletion with preconditions. The
 * client library provides credentials; its object API drops fields that its models lack, and cannot abort a request (decision 0049).
 */
import { KubeConfig, PatchStrategy, type V1APIResourceList } from "@kubernetes/client-node";
import { request } from "undici";
import { isNotFound, KubernetesApiError } from "./api-error.js";
import { ApiServerConnection } from "./connection.js";
import { ANSWER_BYTES_MAX, ANSWER_MS_MAX, PAGE_OBJECTS, WATCH_IDLE_MS_MAX } from "./limits.js";
import { type KubeObject, type MetadataOnly, pathOf, type Resource, resourceOf } from "./resource.js";

type KubernetesVerb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** Receives the status of each response; 0 = no response. */
export type RequestObserver = (verb: KubernetesVerb, plural: string, status: number, seconds: number) => void;

export interface KubernetesCallOptions {
  readonly signal?: AbortSignal;
}

export interface ApplyOptions extends KubernetesCallOptions {
  /** Field manager, the owner of the fields that are sent. */
  readonly manager: string;
  /** Take fields from other managers; without, a conflict is a 409 that names them. */
  readonly force: boolean;
  readonly subresource?: "status" | "scale";
  readonly dryRun?: boolean;
}

interface DeleteOptions extends KubernetesCallOptions {
  /** Restricts the change to the object with this uid; a later one with its name is left alone. */
  readonly uid?: string;
  /** Restricts the change to this version of the object. */
  readonly resourceVersion?: string;
  readonly propagation?: "Background" | "Foreground" | "Orphan";
  /** Grace period of a deleted pod; the pod's own when absent. */
  readonly gracePeriodSeconds?: number;
}

interface ListOptions extends KubernetesCallOptions {
  readonly namespace?: string;
  readonly labels?: string;
  readonly metadataOnly?: boolean;
}

interface KubernetesList<T> {
  readonly items: readonly T[];
  /** Resource version from which a watch continues. */
  readonly resourceVersion: string;
}

/** One operation of a JSON patch (RFC 6902). */
interface PatchOperation {
  readonly op: "add" | "remove" | "replace" | "test";
  readonly path: string;
  readonly value?: unknown;
}

/** Server-side apply. Its media type is that of YAML, of which JSON is a part. */
const APPLY = PatchStrategy.ServerSideApply;
const AS_METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Every method rejects with `ApiError` when the API server refuses, and with the transport's error when it does not respond. */
export class KubernetesClient implements AsyncDisposable {
  readonly #connection: ApiServerConnection;
  readonly #observe: RequestObserver;
  readonly #beforeWrites: (() => void)[] = [];
  /** Writes that have no answer yet, by the signal of their call: those with the same signal come one after the other. */
  readonly #pending = new WeakMap<AbortSignal, { readonly operation: string; readonly sinceMs: number }>();

  constructor(config: KubeConfig, observe: RequestObserver = () => {}) {
    this.#connection = new ApiServerConnection(config, () => this.#check());
    this.#observe = observe;
  }

  /**
   * `check` runs right before a request that may change something, and prevents the request by throwing. A request that waits for a
   * connection has passed that check already, so `check` runs again when the connection is open.
   */
  beforeWrites(check: () => void): void {
    this.#beforeWrites.push(check);
  }

  /** The write with this signal that waits for its answer now, and for how long (milliseconds). */
  pendingWrite(signal: AbortSignal): { readonly operation: string; readonly forMs: number } | undefined {
    const pending = this.#pending.get(signal);
    return pending === undefined ? undefined : { operation: pending.operation, forMs: performance.now() - pending.sinceMs };
  }

  #check(): void {
    for (const check of this.#beforeWrites) check();
  }

  async get<T extends MetadataOnly = KubeObject>(
    resource: Resource,
    name: string,
    namespace?: string,
    call: KubernetesCallOptions = {},
  ): Promise<T> {
    return (await this.#json("get", resource, "GET", pathOf(resource, namespace, name), call)) as T;
  }

  /** Undefined when there is none. */
  async find<T extends MetadataOnly = KubeObject>(
    resource: Resource,
    name: string,
    namespace?: string,
    call: KubernetesCallOptions = {},
  ): Promise<T | undefined> {
    try {
      return await this.get<T>(resource, name, namespace, call);
    } catch (cause) {
      if (isNotFound(cause)) return undefined;
      throw cause;
    }
  }

  /** Whether the API server has the kind now: optional ones come and go. */
  async serves(resource: Resource, call: KubernetesCallOptions = {}): Promise<boolean> {
    try {
      const kinds = (await this.#json(
        "get",
        resource,
        "GET",
        `/apis/${resource.apiVersion}`,
        call,
      )) as Partial<V1APIResourceList>;
      return (kinds.resources ?? []).some(({ name }) => name === resource.plural);
    } catch (cause) {
      if (isNotFound(cause)) return false;
      throw cause;
    }
  }

  /** All objects, page by page, each with its kind; rejects with `Expired` when the snapshot of the pages expired meanwhile. */
  async list<T extends MetadataOnly = KubeObject>(resource: Resource, options: ListOptions = {}): Promise<KubernetesList<T>> {
    const items: T[] = [];
    let next: string | undefined;
    for (;;) {
      const query = new URLSearchParams({ limit: String(PAGE_OBJECTS) });
      if (options.labels !== undefined) query.set("labelSelector", options.labels);
      if (next !== undefined) query.set("continue", next);
      const accept =
        options.metadataOnly === true ? `application/json;${AS_METADATA.replace("Metadata;", "MetadataList;")}` : undefined;
      const path = `${pathOf(resource, options.namespace)}?${query}`;
      const page = (await this.#json("list", resource, "GET", path, options, undefined, undefined, accept)) as ListPage<T>;
      for (const item of page.items ?? []) items.push(options.metadataOnly === true ? item : named(item, resource));
      next = page.metadata.continue === "" ? undefined : page.metadata.continue;
      if (next === undefined) return { items, resourceVersion: page.metadata.resourceVersion };
    }
  }

  /** Lines of a watch as they arrive, each an event in JSON; ends when the API server ends it. */
  async watch(
    resource: Resource,
    query: URLSearchParams,
    options: ListOptions & { readonly idleMs?: number },
  ): Promise<AsyncIterable<Uint8Array>> {
    const accept = options.metadataOnly === true ? `application/json;${AS_METADATA}` : "application/json";
    const path = `${pathOf(resource, options.namespace)}?${query}`;
    const idleMs = options.idleMs ?? WATCH_IDLE_MS_MAX;
    const { statusCode, body } = await this.#request("watch", resource, { method: "GET", path, accept, call: options, idleMs });
    if (statusCode !== 200) throw new KubernetesApiError(`watch ${resource.plural}`, statusCode, await body.text());
    return body;
  }

  async create<T extends MetadataOnly = KubeObject>(
    object: KubeObject,
    call: KubernetesCallOptions & { readonly manager?: string } = {},
  ): Promise<T> {
    const resource = resourceOf(object);
    const query = call.manager === undefined ? "" : `?fieldManager=${encodeURIComponent(call.manager)}`;
    const path = `${pathOf(resource, object.metadata.namespace)}${query}`;
    return (await this.#json("create", resource, "POST", path, call, object)) as T;
  }

  /** Replaces the object only if its `resourceVersion` is still current. */
  async replace<T extends MetadataOnly = KubeObject>(object: KubeObject, call: KubernetesCallOptions = {}): Promise<T> {
    const resource = resourceOf(object);
    const path = pathOf(resource, object.metadata.namespace, object.metadata.name);
    return (await this.#json("update", resource, "PUT", path, call, object)) as T;
  }

  /**
   * Server-side apply: the manager owns the fields that are sent; fields that it owned and does not send any more are removed, all others
   * stay.
   */
  async apply<T extends MetadataOnly = KubeObject>(object: KubeObject, options: ApplyOptions): Promise<T> {
    const resource = resourceOf(object);
    const { manager, force, subresource, dryRun } = options;
    const query = new URLSearchParams({ fieldManager: manager, force: String(force) });
    if (dryRun === true) query.set("dryRun", "All");
    const path = pathOf(resource, object.metadata.namespace, object.metadata.name, subresource);
    return (await this.#json("patch", resource, "PATCH", `${path}?${query}`, options, object, APPLY)) as T;
  }

  async patch<T extends MetadataOnly = KubeObject>(
    resource: Resource,
    { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
    operations: readonly PatchOperation[],
    call: KubernetesCallOptions = {},
  ): Promise<T> {
    const path = pathOf(resource, namespace, name);
    return (await this.#json("patch", resource, "PATCH", path, call, operations, PatchStrategy.JsonPatch)) as T;
  }

  /** False when the object did not exist any more. */
  async delete(resource: Resource, name: string, namespace: string | undefined, options: DeleteOptions = {}): Promise<boolean> {
    const { uid, resourceVersion, propagation = "Background", gracePeriodSeconds } = options;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: propagation, preconditions, gracePeriodSeconds };
    try {
      await this.#json("delete", resource, "DELETE", pathOf(resource, namespace, name), options, body);
      return true;
    } catch (cause) {
      if (isNotFound(cause)) return false;
      throw cause;
    }
  }

  async #json(
    verb: KubernetesVerb,
    resource: Resource,
    method: HttpMethod,
    path: string,
    call: KubernetesCallOptions,
    body?: unknown,
    contentType?: string,
    accept = "application/json",
  ): Promise<unknown> {
    const {
      statusCode,
      headers,
      body: answer,
    } = await this.#request(verb, resource, { method, path, accept, call, body, contentType });
    const text = await answer.text();
    if (statusCode < 200 || statusCode > 299) {
      const retryAfter = headers["retry-after"];
      throw new KubernetesApiError(
        `${verb} ${resource.plural}`,
        statusCode,
        text,
        typeof retryAfter === "string" ? retryAfter : undefined,
      );
    }
    if (text.length > ANSWER_BYTES_MAX) throw new Error(`${verb} ${resource.plural}: the answer has ${text.length} characters`);
    return JSON.parse(text);
  }

  async #request(verb: KubernetesVerb, resource: Resource, question: KubernetesRequest) {
    const { method, path, accept, call, body, contentType = "application/json", idleMs = ANSWER_MS_MAX } = question;
    const { origin, headers, dispatcher } = await this.#connection.access();
    if (method !== "GET") this.#check();
    const startedAt = performance.now();
    let status = 0;
    if (method !== "GET" && call.signal !== undefined)
      this.#pending.set(call.signal, { operation: `${verb} ${resource.plural}`, sinceMs: startedAt });
    try {
      const answer = await request(`${origin}${path}`, {
        method,
        dispatcher,
        headers: {
          ...headers,
          accept,
          "user-agent": "perdure-operator",
          ...(body === undefined ? {} : { "content-type": contentType }),
        },
        headersTimeout: ANSWER_MS_MAX,
        bodyTimeout: idleMs,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      });
      status = answer.statusCode;
      return answer;
    } finally {
      if (call.signal !== undefined) this.#pending.delete(call.signal);
      this.#observe(verb, resource.plural, status, (performance.now() - startedAt) / 1000);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#connection[Symbol.asyncDispose]();
  }
}

type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

interface KubernetesRequest {
  readonly method: HttpMethod;
  readonly path: string;
  readonly accept: string;
  readonly call: KubernetesCallOptions;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly idleMs?: number;
}

/** Lists of kinds that an API server has built in name the kind once, and not in each object. */
function named<T extends MetadataOnly>(item: T, { apiVersion, kind }: Resource): T {
  return "kind" in item ? item : { apiVersion, kind, ...item };
}

interface ListPage<T> {
  readonly items?: readonly T[] | null;
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
}

/** Connects with the text of a kubeconfig; without one, with `KUBECONFIG`, the home directory, or the pod that this process runs in. */
export function connectKubernetes(kubeconfig: string | undefined, observe?: RequestObserver): KubernetesClient {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromString(kubeconfig);
  return new KubernetesClient(config, observe);
}
