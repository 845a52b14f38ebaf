/**
 * Data that all users of an environment share (views, acknowledged failures): the server stores it. A server of another kind stores none,
 * and the data is kept in this browser.
 */
import { AdminApiError, type ConsoleDocument, type ConsoleDocumentName } from "@perdure/admin-client";
import { useReportedChange } from "../kit/index.js";
import { type ConsoleEnvironment, useEnvironment } from "./environment.js";
import { useRequest } from "./request.js";
import { useStored } from "./stored.js";

/** Changes of other users appear after this time. */
const SHARED_EVERY_MS = 15_000;
/** A change is made again on top of that of another user at most this often. */
const TRIES_MAX = 5;

export interface Shared<T> {
  readonly value: T;
  /** `onChanged` is called once the change is kept, so that a reload of the page does not lose it; never when it failed. */
  readonly change: (next: (value: T) => T, onChanged?: () => void) => void;
  /** False: it is kept in this browser. */
  readonly isShared: boolean;
  /** Why the user may not change it. */
  readonly forbidden: string | undefined;
}

/** Undefined when the server keeps no documents. */
export async function readDocument(
  { admin }: ConsoleEnvironment,
  name: ConsoleDocumentName,
  signal: AbortSignal,
): Promise<ConsoleDocument | undefined> {
  try {
    return await admin.consoleDocuments.get(name, { signal });
  } catch (cause) {
    if (cause instanceof AdminApiError && (cause.status === 404 || cause.status === 405)) return undefined;
    throw cause;
  }
}

/** `read`: a function that stays the same; null is what nothing is read from. */
export function useShared<T>(name: ConsoleDocumentName, read: (stored: string | null) => T): Shared<T> {
  const environment = useEnvironment();
  const [local, changeLocal] = useStored(name, read);
  const key = ["shared", name];
  // A query has no value that is undefined.
  const request = async (from: ConsoleEnvironment, signal: AbortSignal) => (await readDocument(from, name, signal)) ?? null;
  const { data } = useRequest(key, request, { everyMs: SHARED_EVERY_MS });
  const changeShared = useReportedChange(
    [environment.key, ...key],
    (next: (value: T) => T) => changed(environment, name, (stored) => JSON.stringify(next(read(stored)))),
    { failed: "It was not saved" },
  );
  if (data === null) {
    const change: Shared<T>["change"] = (next, onChanged) => {
      changeLocal(next);
      onChanged?.();
    };
    return { value: local, change, isShared: false, forbidden: undefined };
  }
  return {
    value: read(data?.value ?? null),
    change: (next, onChanged) => changeShared.mutate(next, { onSuccess: () => onChanged?.() }),
    isShared: true,
    forbidden: environment.forbidden,
  };
}

async function changed(
  { admin }: ConsoleEnvironment,
  name: ConsoleDocumentName,
  next: (stored: string | null) => string,
): Promise<ConsoleDocument> {
  for (let tries = 1; ; tries++) {
    const { version, value } = await admin.consoleDocuments.get(name);
    try {
      return await admin.consoleDocuments.put(name, version, next(value));
    } catch (cause) {
      if (!(cause instanceof AdminApiError) || cause.status !== 409 || tries >= TRIES_MAX) throw cause;
    }
  }
}
