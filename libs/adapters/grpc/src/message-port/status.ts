/** How a call between threads ended, with the fields that errors of grpc-js have: the callers do not see which of the two carried a call. */
import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";

export type MetadataEntries = readonly (readonly [key: string, value: string | Uint8Array])[];

/** A `StatusObject` that can be posted to another thread. */
export interface FrameStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: MetadataEntries;
}

export const OK: FrameStatus = { code: status.OK, details: "OK", metadata: [] };

export function frameStatus(code: status, details: string): FrameStatus {
  return { code, details, metadata: [] };
}

/** The status of an error that a handler answered or threw, as grpc-js derives it. */
export function statusOfError(error: Partial<StatusObject> & { readonly message?: string }, trailer?: Metadata): FrameStatus {
  const metadata = entriesOf(trailer ?? error.metadata);
  const message = error.message ?? "Unknown Error";
  const { code } = error;
  if (code === undefined || !Number.isInteger(code)) return { code: status.UNKNOWN, details: message, metadata };
  return { code, details: error.details ?? message, metadata };
}

/** The error that a client gets. */
export function serviceErrorOf({ code, details, metadata }: FrameStatus): ServiceError {
  return Object.assign(new Error(`${code} ${status[code]}: ${details}`), { code, details, metadata: metadataOf(metadata) });
}

export function entriesOf(metadata: Metadata | null | undefined): MetadataEntries {
  return Object.entries(metadata?.toJSON() ?? {}).flatMap(([key, values]) =>
    // A copy, because a Buffer may be a view into a pool, and a post would copy all of it.
    values.map((value) => [key, typeof value === "string" ? value : new Uint8Array(value)] as const),
  );
}

export function metadataOf(entries: MetadataEntries): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of entries) metadata.add(key, typeof value === "string" ? value : Buffer.from(value));
  return metadata;
}
