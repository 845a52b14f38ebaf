/** The registry's side: shows its state to watchers and carries out changes that come from management APIs. */
import { create } from "@bufbuild/protobuf";
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type Logger, PerdureError } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import type { Registry } from "@perdure/metadata";
import { fromJson } from "./codec/json.js";
import { CHANGES, type ChangeMethod, encodeState, recordsOf } from "./codec/registry.js";
import {
  type ChangeReply,
  type ChangeRequest,
  type RegistryState,
  RegistryStateSchema,
  type WatchRegistryRequest,
} from "./gen/v1/registry_pb.js";
import { answerChange } from "./unary.js";

export function registryHandlers(registry: Registry & RegistryView, logger: Logger): UntypedServiceImplementation {
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
      };
      call.on("drain", () => {
        isReading = true;
        send();
      });
      send();
      const stop = registry.onChange(send);
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
  return change.call(registry, ...(fromJson(body) as unknown[]), signal);
}
