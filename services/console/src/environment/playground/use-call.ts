/**
 * A call is sent first and then awaited, so that the page has the id of the invocation at once: to link to it while it runs, and to show
 * its result after the page has stopped waiting. (Pages of other origins cannot read the id from the answer of a plain call.)
 */
import type { IngressClient } from "@perdure/admin-client";
import { useCallback, useEffect, useRef, useState } from "react";
import { type ConsoleEnvironment, useEnvironment } from "../environment.js";
import { answered, type CallResponse, failed } from "./answer.js";
import { type Draft, inputOf, isNotRetained } from "./call.js";

export type CallState =
  | { readonly kind: "idle" }
  | { readonly kind: "waiting"; readonly sinceMs: number; readonly invocationId: string | undefined }
  | { readonly kind: "done"; readonly answer: CallResponse };

interface CallController {
  readonly state: CallState;
  /** One at a time; resolves when it is over. */
  readonly call: (draft: Draft) => Promise<CallResponse>;
  /** Waits no longer. */
  readonly leave: () => void;
}

export function useCall(): CallController {
  const environment = useEnvironment();
  const [state, setState] = useState<CallState>({ kind: "idle" });
  const leaving = useRef<AbortController>(undefined);
  useEffect(() => () => leaving.current?.abort(), []);
  const call = useCallback(
    async (draft: Draft) => {
      leaving.current?.abort();
      const controller = new AbortController();
      leaving.current = controller;
      const sinceMs = Date.now();
      setState({ kind: "waiting", sinceMs, invocationId: undefined });
      const answer = await answerOf(environment, draft, controller.signal, (invocationId) =>
        setState({ kind: "waiting", sinceMs, invocationId }),
      );
      if (leaving.current === controller) setState({ kind: "done", answer });
      return answer;
    },
    [environment],
  );
  const leave = useCallback(() => leaving.current?.abort(), []);
  return { state, call, leave };
}

async function answerOf(
  { ingress }: ConsoleEnvironment,
  draft: Draft,
  signal: AbortSignal,
  onSent: (invocationId: string) => void,
): Promise<CallResponse> {
  const began = performance.now();
  const took = () => performance.now() - began;
  let invocationId: string | undefined;
  try {
    if (draft.way === "call" && isNotRetained(draft)) return answered(await plainCall(ingress, draft, signal), took());
    const sent = await ingress.send(
      addressOf(draft),
      { ...inputOf(draft), signal },
      draft.way === "delayed" ? draft.extras.delay : undefined,
    );
    invocationId = sent.invocationId;
    if (draft.way !== "call") return { kind: "sent", tookMs: took(), invocationId, sent };
    onSent(invocationId);
    return answered(await ingress.attach(invocationId, { signal }), took(), invocationId);
  } catch (cause) {
    if (signal.aborted) return { kind: "left", tookMs: took(), invocationId };
    return failed(cause, took(), invocationId);
  }
}

function plainCall(ingress: IngressClient, draft: Draft, signal: AbortSignal) {
  return ingress.call(addressOf(draft), { ...inputOf(draft), signal });
}

function addressOf({ service, handler, key }: Draft) {
  return { service: service.name, key: service.ty === "Service" ? undefined : key, handler: handler.name };
}
