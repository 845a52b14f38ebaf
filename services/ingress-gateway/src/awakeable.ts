/** Completes awakeables by URL: third parties have nothing but the id (ingress.md §7). */
import { fromUtf8, parseAwakeableId } from "@perdure/base";
import type { SignalInvocation } from "@perdure/state-machine";
import { answerAccepted } from "./answer.js";
import type { IngressContext } from "./context.js";
import type { IngressExchange } from "./exchange.js";
import { readBody } from "./read-body.js";
import * as refusal from "./refusal.js";

/** Code of the terminal error that a rejected awakeable becomes. */
const rejectionCode = 500;

export function handleAwakeable(
  context: IngressContext,
  exchange: IngressExchange,
  text: string,
  verb: "resolve" | "reject",
): void {
  exchange.kind = "awakeable";
  if (exchange.method !== "POST") return context.refuse(exchange, refusal.methodNotAllowed);
  const parsed = parseAwakeableId(text);
  if (!parsed.ok) return context.refuse(exchange, refusal.badAwakeableId(text, parsed.problem));
  const target = parsed.value;
  readBody(context, exchange, (bytes) => {
    // Ids of SDKs before protocol 5: no invocation of this server can wait for one, and completions of removed invocations are accepted.
    if (target.kind === "legacy") return answerAccepted(exchange);
    const command: SignalInvocation = {
      kind: "signal",
      id: target.invocationId,
      signal: { kind: "signalIndex", index: target.signalIndex },
      result:
        verb === "resolve"
          ? { kind: "value", value: bytes.slice() }
          : { kind: "failure", failure: { code: rejectionCode, message: fromUtf8(bytes), metadata: [] } },
    };
    context.ports.partitions.submit(command).then(
      () => answerAccepted(exchange), // Whatever the result: completing twice, or without a waiting invocation, is not an error.
      (cause: unknown) => context.fail(exchange, cause, "complete"),
    );
  });
}
