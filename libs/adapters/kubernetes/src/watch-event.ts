/** Parses the events of a watch. A controller must never act on an object without a name, or continue after an event that it could not read. */
import { jsonFields } from "@perdure/base";
import { KubernetesApiError } from "./api-error.js";
import type { MetadataOnly } from "./resource.js";

export type WatchEvent =
  | { readonly kind: "put" | "deleted"; readonly object: MetadataOnly; readonly resourceVersion: string | undefined }
  /** A bookmark, or an event of a type that this version does not have: only the resource version counts. */
  | { readonly kind: "bookmark"; readonly resourceVersion: string | undefined };

/**
 * Throws `KubernetesApiError` for an event of type ERROR, which is how the API server reports an expired watch in a response that began
 * with 200, and for an event that cannot be read: the objects are then listed again.
 */
export function watchEventOf(value: unknown, plural: string): WatchEvent {
  const { type, object } = jsonFields(value) ?? {};
  const resourceVersion = textOf(jsonFields(jsonFields(object)?.["metadata"])?.["resourceVersion"]);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (!isNamed(object)) throw unreadable(plural);
      return { kind: type === "DELETED" ? "deleted" : "put", object, resourceVersion };
    case "ERROR": {
      const code = jsonFields(object)?.["code"];
      throw new KubernetesApiError(`watch ${plural}`, typeof code === "number" ? code : 500, JSON.stringify(object) ?? "");
    }
    default:
      if (typeof type !== "string") throw unreadable(plural);
      return { kind: "bookmark", resourceVersion };
  }
}

/** The reflector's parser checks the other fields. */
function isNamed(object: unknown): object is MetadataOnly {
  const metadata = jsonFields(jsonFields(object)?.["metadata"]);
  const namespace = metadata?.["namespace"];
  return typeof metadata?.["name"] === "string" && (namespace === undefined || typeof namespace === "string");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Without the event itself: it may be a Secret. */
function unreadable(plural: string): KubernetesApiError {
  return new KubernetesApiError(`watch ${plural}`, 500, "an event cannot be read");
}
