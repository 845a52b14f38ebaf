/** The registry's side: shows its state to watchers and carries out changes that come from management APIs. */
import { create } from "@bufbuild/protobuf";
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type Clock, type Logger, PerdureError } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { Registry } from "@perdure/metadata";
import { fromJson } from "./codec/json.js";
import { CHANGES, type ChangeMethod, changeResultOf, encodeState, recordsOf } from "./codec/registry.js";
import {
  type ChangeReply,
  type ChangeRequest,
  type RegistryState,
  RegistryStateSchema,
  type WatchRegistryRequest,
} from "./gen/v1/registry_pb.js";
import { answerChange } from "./unary.js";

/** Those who watch, for whoever wants to know how many they are and how far behind. */
export class Watchers {
  /** With since when each has not read what it was told; undefined when it has. Monotonic milliseconds. */
  readonly #behindSinceMs = new Map<unknown, number | undefined>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#behindSinceMs.size;
  }

  /** Of the one that is behind for longest; 0 when nobody is. */
  get lagMs(): number {
    const nowMs = this.#clock.monotonicMs();
    let oldestMs = nowMs;
    for (const sinceMs of this.#behindSinceMs.values()) if (sinceMs !== undefined) oldestMs = Math.min(oldestMs, sinceMs);
    return nowMs - oldestMs;
  }

  note(watcher: unknown, isReading: boolean): void {
    if (isReading) this.#behindSinceMs.set(watcher, undefined);
    else if (this.#behindSinceMs.get(watcher) === undefined) this.#behindSinceMs.set(watcher, this.#clock.monotonicMs());
  }

  delete(watcher: unknown): void {
    this.#behindSinceMs.delete(watcher);
  }
}

export function registryHandlers(
  registry: Registry & RegistryView,
  logger: Logger,
  watchers?: Watchers,
): UntypedServiceImplementation {
  let number = 1;
  registry.onChange(() => number++);

  return {
    watch(call: ServerWritableStream<WatchRegistryRequest, RegistryState>) {
      let isReading = true;
      let told = 0;
      const send = (): void => {
        if (!isReading || told === number) return;
        told = number;
        const records = call.request.withRecords ? recordsOf(registry) : undefined;
        const body = encodeState({ snapshot: registry.current(), records });
        // A reader that is slow is told the newest state when it reads again.
        isReading = call.write(create(RegistryStateSchema, { number: BigInt(number), body }));
        watchers?.note(call, isReading);
      };
      call.on("drain", () => {
        isReading = true;
        watchers?.note(call, true);
        send();
      });
      send();
      const stopListening = registry.onChange(send);
      const stop = (): void => {
        stopListening();
        watchers?.delete(call);
      };
      call.on("cancelled", stop);
      call.on("close", stop);
      call.on("error", stop);
    },

    change(call: ServerUnaryCall<ChangeRequest, ChangeReply>, answer: sendUnaryData<ChangeReply>) {
      const abort = new AbortController();
      call.on("cancelled", () => abort.abort());
      answerChange(changeBy(registry, call.request, abort.signal), () => number, logger, answer);
    },
  };
}

async function changeBy(registry: Registry, { method, arguments: body }: ChangeRequest, signal: AbortSignal): Promise<unknown> {
  if (!CHANGES.includes(method as ChangeMethod)) throw new PerdureError("OPS0003", `there is no change '${method}'`);
  const change = registry[method as ChangeMethod] as (...values: unknown[]) => Promise<unknown>;
  return changeResultOf(registry, await change.call(registry, ...(fromJson(body) as unknown[]), signal));
}
