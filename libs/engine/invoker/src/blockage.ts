/** Determines which messages begin and end a wait of the handler. */
import { MessageType } from "@perdure/service-protocol";

/** See `BLOCKED_AFTER_MS`. */
export type Blockage = "declared" | "evident" | "possible";

export function beginsWait(type: number): boolean {
  return (
    type === MessageType.Sleep ||
    type === MessageType.Call ||
    type === MessageType.AttachInvocation ||
    type === MessageType.GetPromise
  );
}

export function endsWait(type: number): boolean {
  return (
    type === MessageType.SleepCompletion ||
    type === MessageType.CallCompletion ||
    type === MessageType.AttachInvocationCompletion ||
    type === MessageType.GetPromiseCompletion
  );
}

/**
 * Returns a copy, unless the view covers its whole buffer: the decoder assembles a message that came in pieces in a new buffer, which is
 * owned already.
 */
export function ownedBytes(view: Uint8Array): Uint8Array {
  return view.byteLength === view.buffer.byteLength ? new Uint8Array(view.buffer) : new Uint8Array(view);
}
