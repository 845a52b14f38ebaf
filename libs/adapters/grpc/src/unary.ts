/** A unary gRPC call as a promise with a deadline that the caller can abort. */

import { create } from "@bufbuild/protobuf";
import { type handleUnaryCall, Metadata, type MethodDefinition, type sendUnaryData, status } from "@grpc/grpc-js";
import { type Logger, PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import type { Channel } from "./channel.js";
import { toJson } from "./codec/json.js";
import { ChangedSchema, type ChangeReply, ChangeReplySchema, RefusedSchema } from "./gen/v1/registry_pb.js";
import { refusalOf } from "./refusal.js";
import { answeredError, statusOf } from "./status.js";

export interface UnaryCallOptions {
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Name of the called role in messages: "the registry". */
  readonly callee: string;
}

/** Rejects with the error that was answered (`status.ts`), with OPS0004 when there is no answer, with the signal's reason when it fires. */
export function callUnary<In, Out>(
  client: Channel,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<In, Out>,
  request: In,
  { deadlineMs, signal, callee }: UnaryCallOptions,
): Promise<Out> {
  const deadline = Date.now() + deadlineMs;
  return new Promise((resolve, reject) => {
    const hangUp = (): void => call.cancel();
    const call = client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new Metadata(),
      { deadline },
      (error, reply) => {
        signal?.removeEventListener("abort", hangUp);
        if (reply !== undefined) return resolve(reply);
        if (error?.code === status.CANCELLED && signal?.aborted === true) return reject(signal.reason);
        const answered = error === null ? undefined : answeredError(error);
        reject(
          answered ??
            new PerdureError("OPS0004", `${callee} cannot be reached: ${error?.details ?? "no answer"}`, { cause: error }),
        );
      },
    );
    signal?.addEventListener("abort", hangUp, { once: true });
  });
}

/** Rejections become statuses with the catalogue's code; those that are none of the catalogue's are logged and answered as OPS0003. `signal` aborts when the caller hangs up. */
export function unaryHandler<In, Out>(
  answerTo: (request: In, signal: AbortSignal) => Promise<Out>,
  logger: Logger,
): handleUnaryCall<In, Out> {
  return (call, answer) => {
    const abort = new AbortController();
    call.on("cancelled", () => abort.abort());
    answerTo(call.request, abort.signal).then(
      (response) => answer(null, response),
      (cause: unknown) => {
        const error = cause instanceof RegistryRefusal ? cause : PerdureError.from(cause);
        if (error !== cause) logger.error({ error: cause, method: call.getPath() }, "a call of another process failed");
        answer(statusOf(error));
      },
    );
  };
}

/** Answers a change with its result and the number of the state that shows it, or with the reason of its refusal. */
export function answerChange(
  result: Promise<unknown>,
  stateNumber: () => number,
  logger: Logger,
  answer: sendUnaryData<ChangeReply>,
): void {
  result.then(
    (value) => {
      const changed = create(ChangedSchema, { result: toJson(value), stateNumber: BigInt(stateNumber()) });
      answer(null, create(ChangeReplySchema, { outcome: { case: "changed", value: changed } }));
    },
    (cause: unknown) => {
      const refused = refusalOf(cause);
      if (refused === undefined) {
        logger.error({ error: cause instanceof Error ? cause.stack : String(cause) }, "a change of the registry failed");
        return answer({ code: status.INTERNAL, details: "the change failed" });
      }
      answer(null, create(ChangeReplySchema, { outcome: { case: "refused", value: create(RefusedSchema, refused) } }));
    },
  );
}
