/** The limits of the invoker of one thread, where several threads of a process run attempts. */
import { shareOf } from "@perdure/base";
import { LARGE_MESSAGES_BYTES_MAX } from "./limits.js";
import type { InvokerOptions } from "./options.js";

/** Divides the limits of the process; `thread` is one of 0 … threads − 1. Limits of one attempt or one journal stay as they are. */
export function invokerShareOf(options: InvokerOptions, thread: number, threads: number): InvokerOptions {
  const { concurrentInvocationsMax, largeMessagesBytesMax = LARGE_MESSAGES_BYTES_MAX } = options;
  return {
    ...options,
    concurrentInvocationsMax: shareOf(concurrentInvocationsMax, thread, threads),
    // One message always has its turn, however large it is.
    largeMessagesBytesMax: shareOf(largeMessagesBytesMax, thread, threads),
  };
}
