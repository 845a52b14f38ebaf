/** Submits deliveries to the partitions and waits until they are stored. */
import { type Clock, PerdureError, type TimerHandle } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { Invoke } from "@perdure/state-machine";
import { SUBMIT_TIMEOUT_MS } from "./limits.js";

/** Resolves when the invocation is durable, new or from an earlier submission. Throws ING0006 when its partition does not accept it. */
export function submitDelivery(
  { partitions, clock }: { readonly partitions: Pick<Partitions, "invoke">; readonly clock: Clock },
  command: Invoke,
): Promise<void> {
  let timeout: TimerHandle | undefined;
  const submitted = new Promise<void>((resolve, reject) => {
    const unavailable = (reason: string) => reject(new PerdureError("ING0006", reason));
    timeout = clock.setTimer(SUBMIT_TIMEOUT_MS, () => unavailable("no answer in time"));
    partitions.invoke(command, false, { submitted: () => resolve(), completed: () => undefined, unavailable });
  });
  return submitted.finally(() => timeout?.cancel());
}
