/** The attempt of a run that runs or ran last, for introspection and metrics. Each attempt that began is counted as ended once. */
import type { Clock } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { AttemptTransport, InvokerMetrics } from "./metrics.js";
import type { EndpointAnswer } from "./ports.js";

export class AttemptRecord {
  readonly #clock: Clock;
  readonly #metrics: InvokerMetrics;
  #count = 0;
  #startedAtMs: number | undefined;
  #transport: AttemptTransport = "none";
  /** An attempt began, and its end was not reported yet. */
  #isEndPending = false;
  #deploymentId: string | undefined;
  endpointAnswer: EndpointAnswer = "nothing";
  /** Name by which the endpoint identified itself. */
  server: string | undefined;

  constructor(clock: Clock, metrics: InvokerMetrics) {
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Number of the attempt in its run, from 1; 0 before the first one. */
  get count(): number {
    return this.#count;
  }

  get startedAtMs(): number | undefined {
    return this.#startedAtMs;
  }

  get deploymentId(): string | undefined {
    return this.#deploymentId;
  }

  /** @param dueAtMs time since which the attempt waited for its slot */
  begin(dueAtMs: number): void {
    this.#count++;
    const nowMs = this.#clock.nowMs();
    this.#startedAtMs = nowMs;
    this.endpointAnswer = "nothing";
    this.#metrics.attemptStarted(Math.max(0, nowMs - dueAtMs));
    this.#isEndPending = true;
  }

  goesTo(deployment: DeploymentView): void {
    this.#deploymentId = deployment.id;
    this.#transport = transportOf(deployment);
  }

  ended(how: "ended" | "suspended" | "failed", errorCode: string | undefined): void {
    if (!this.#isEndPending) return; // The attempt was cut off before.
    this.#isEndPending = false;
    const nowMs = this.#clock.nowMs();
    this.#metrics.attemptEnded(how, errorCode, nowMs - (this.#startedAtMs ?? nowMs), this.#transport);
  }

  /** The attempt neither ended nor failed. */
  brokenOff(): void {
    if (this.#isEndPending) this.#metrics.attemptBrokenOff();
    this.#isEndPending = false;
  }

  /** The endpoint did not process the attempt: the next one has the same number. */
  unprocessed(): void {
    this.brokenOff();
    this.#count--;
  }
}

function transportOf({ address }: DeploymentView): AttemptTransport {
  if (address.kind === "lambda") return "lambda";
  return address.httpVersion === "HTTP/1.1" ? "h1" : "h2";
}
