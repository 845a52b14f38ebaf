/** Long answers as streams of pages. The next page is read only when the receiver has read the one before. */

import { Metadata, type MethodDefinition, type ServerWritableStream, status } from "@grpc/grpc-js";
import { type Logger, PerdureError } from "@perdure/base";
import type { Channel, ReadingCall } from "./channel.js";

/** Writes the pages and ends the stream. When the reader disconnects, no further page is produced. */
export function streamPages<In, Page>(call: ServerWritableStream<In, Page>, pages: AsyncIterable<Page>, logger: Logger): void {
  write(call, pages).catch((cause: unknown) => {
    if (call.cancelled) return;
    const detail = cause instanceof PerdureError ? cause.detail : "the rows could not be read";
    logger.error({ cause }, "rows for another process could not be read");
    // Not `destroy`: grpc-js sends no status then, and the reader waits until its deadline.
    call.emit("error", Object.assign(new Error(detail), { code: status.INTERNAL, details: detail }));
  });
}

async function write<In, Page>(call: ServerWritableStream<In, Page>, pages: AsyncIterable<Page>): Promise<void> {
  for await (const page of pages) {
    if (call.cancelled) return;
    if (!call.write(page)) await drained(call);
  }
  call.end();
}

function drained<In, Page>(call: ServerWritableStream<In, Page>): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      for (const event of ["drain", "cancelled", "close"]) call.off(event, go);
      resolve();
    };
    for (const event of ["drain", "cancelled", "close"]) call.on(event, go);
  });
}

export interface PagesOptions {
  /** Timeout for all pages together. */
  readonly deadlineMs: number;
  /** Name of the called role in messages: "the registry". */
  readonly callee: string;
}

/** Reads the pages; when the consumer stops, the call is cancelled. Throws OPS0004 when the other process cannot be reached or fails. */
export async function* readPages<In, Page>(
  client: Channel,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<In, Page>,
  request: In,
  { deadlineMs, callee }: PagesOptions,
): AsyncIterable<Page> {
  const deadline = Date.now() + deadlineMs;
  const stream: ReadingCall<Page> = client.makeServerStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    new Metadata(),
    { deadline },
  );
  try {
    for await (const page of stream) yield page;
  } catch (cause) {
    const details = cause instanceof Error && "details" in cause ? String(cause.details) : "no answer";
    throw new PerdureError("OPS0004", `${callee} cannot be reached: ${details}`, { cause });
  } finally {
    stream.on("error", () => undefined); // `cancel` emits an error on the stream.
    stream.cancel();
  }
}
