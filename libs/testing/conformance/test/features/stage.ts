/** One variant of the feature services on a running server, and short ways to call them. */
import {
  type EndpointKind,
  eventually,
  type HttpAnswer,
  type IngressCallOptions,
  type SentInvocation,
  type TestAdminClient,
  type TestIngressClient,
  type TestWorld,
} from "../../src/index.js";

export interface Variant {
  /** Ends the names of the variant's services. */
  readonly suffix: string;
  readonly kind: EndpointKind;
  readonly version: 5 | 6 | 7;
  /** Handlers must suspend after a moment instead of a minute. */
  readonly inactivityMs?: number;
}

export const VARIANTS: readonly Variant[] = [
  { suffix: "V5Bidi", kind: "h2-bidi", version: 5 },
  { suffix: "V5Reply", kind: "h1-request-response", version: 5 },
  { suffix: "V6Bidi", kind: "h2-bidi", version: 6 },
  { suffix: "V6Restless", kind: "h2-bidi", version: 6, inactivityMs: 15 },
  { suffix: "V6Reply", kind: "h1-request-response", version: 6 },
  { suffix: "V7Bidi", kind: "h2-bidi", version: 7 },
  { suffix: "V7Restless", kind: "h2-bidi", version: 7, inactivityMs: 15 },
  { suffix: "V7Reply", kind: "h2-request-response", version: 7 },
];

/** The same words for all variants that do not keep their stream open while they wait. */
export function suspends({ kind, inactivityMs }: Variant): boolean {
  return kind !== "h2-bidi" || inactivityMs !== undefined;
}

/** A test that is played on every variant, on all of them at a time. */
export type Scenario = (title: string, play: (stage: Stage) => Promise<void>) => void;

let keys = 0;

export class Stage {
  readonly variant: Variant;
  readonly #world: () => TestWorld;

  constructor(variant: Variant, world: () => TestWorld) {
    this.variant = variant;
    this.#world = world;
  }

  get ingress(): TestIngressClient {
    return this.#world().ingress;
  }

  get admin(): TestAdminClient {
    return this.#world().admin;
  }

  /** Never given before in this process. */
  key(): string {
    return `${this.variant.suffix}-${++keys}`;
  }

  service(name: string): string {
    return `${name}${this.variant.suffix}`;
  }

  /** The result of what a handler has sent, which may reach its partition a moment after the handler has ended. */
  async outcomeOfSent(id: string): Promise<unknown> {
    await eventually(`the arrival of ${id}`, async () => (await this.ingress.output(id)).status !== 404);
    return this.ingress.outcome(id);
  }

  /** The result of a handler; rejects unless it succeeds. */
  call<T = unknown>(service: string, handler: string, argument?: unknown, options?: IngressCallOptions): Promise<T> {
    return this.ingress.result<T>([this.service(service), handler], argument, options);
  }

  /** The same with a key. */
  callOn<T = unknown>(
    service: string,
    key: string,
    handler: string,
    argument?: unknown,
    options?: IngressCallOptions,
  ): Promise<T> {
    return this.ingress.result<T>([this.service(service), key, handler], argument, options);
  }

  /** Any answer of a handler. */
  try(service: string, handler: string, argument?: unknown, options?: IngressCallOptions): Promise<HttpAnswer> {
    return this.ingress.call([this.service(service), handler], argument, options);
  }

  send(service: string, handler: string, argument?: unknown): Promise<SentInvocation> {
    return this.ingress.send([this.service(service), handler], argument);
  }

  sendOn(service: string, key: string, handler: string, argument?: unknown): Promise<SentInvocation> {
    return this.ingress.send([this.service(service), key, handler], argument);
  }
}
