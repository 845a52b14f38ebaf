/**
 * The deployment and protocol version of a run. They are stored only together with the handler's first command: until then the next attempt
 * may choose again and use corrected code.
 */
import type { InvocationId } from "@perdure/base";
import type { RetryPolicy } from "@perdure/control";
import type { Pinned, Target } from "@perdure/state-machine";
import { type AttemptRoute, handlerFor } from "./pin.js";
import type { InvokerHost } from "./ports.js";
import type { RunContext } from "./run-context.js";

export class RunPin {
  #pinned: Pinned | undefined;
  /** The deployment is chosen, and the partition has not stored it yet. */
  #isPending = false;

  constructor(pinned: Pinned | undefined) {
    this.#pinned = pinned;
  }

  get pinned(): Pinned | undefined {
    return this.#pinned;
  }

  /** The retry policy of the handler. */
  policy(target: Target, { registry, options }: RunContext): RetryPolicy {
    return handlerFor(target, this.#pinned, registry)?.retryPolicy ?? options.retryPolicyDefault;
  }

  choose({ deployment, version }: AttemptRoute): void {
    if (this.#pinned !== undefined) return;
    this.#pinned = { deploymentId: deployment.id, protocolVersion: version };
    this.#isPending = true;
  }

  /** Submits the choice, unless it is stored or submitted. */
  submitTo(host: InvokerHost, id: InvocationId, run: number): void {
    if (!this.#isPending || this.#pinned === undefined) return;
    this.#isPending = false;
    host.submit({ kind: "pin", id, run, pinned: this.#pinned });
  }

  /** Nothing was stored yet: the next attempt may choose another deployment. */
  drop(): void {
    if (!this.#isPending) return;
    this.#isPending = false;
    this.#pinned = undefined;
  }
}
