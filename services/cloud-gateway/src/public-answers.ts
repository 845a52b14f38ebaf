/**
 * `/version` and the health of the ingress are public (cloud.md §1.5, §6.2), so the number of requests for them has no bound. The runtime
 * gets a request at intervals, shared by all clients, and the answers contain no internal address.
 */
import { type Clock, LoadingCache } from "@perdure/base";
import { type EnvironmentFacts, RUNTIME_SECRET_HEADER } from "@perdure/cloud";
import type { Dispatcher } from "undici";
import {
  ENVIRONMENTS_MAX,
  HEALTH_TTL_MS,
  LOOKUPS_MAX,
  PUBLIC_ANSWER_BYTES_MAX,
  REFRESH_AFTER_MS,
  VERSION_TTL_MS,
} from "./limits.js";
import type { Upstreams } from "./upstreams.js";

/** A JSON body for all clients. */
export type PublicAnswer =
  | { readonly kind: "json"; readonly body: string; readonly ttlMs: number }
  | { readonly kind: "unavailable" };

const UNAVAILABLE: PublicAnswer = { kind: "unavailable" };
/** Timeout for answers that a runtime has at hand. */
const TIMEOUT_MS = 5_000;

export class PublicAnswers {
  readonly #upstreams: Upstreams;
  readonly #clock: Clock;
  readonly #cache: LoadingCache<string, PublicAnswer>;

  constructor(upstreams: Upstreams, clock: Clock) {
    this.#upstreams = upstreams;
    this.#clock = clock;
    this.#cache = new LoadingCache<string, PublicAnswer>({
      clock,
      entriesMax: ENVIRONMENTS_MAX,
      loadsMax: LOOKUPS_MAX,
      lifetimeOf: (answer) => ({ ttlMs: answer.kind === "json" ? answer.ttlMs : 0, refreshAfterMs: REFRESH_AFTER_MS }),
      overloaded: () => new Error("too many concurrent requests to runtimes"),
    });
  }

  /** `/version` with the public address of the ingress. Rejects when the runtime cannot be reached. */
  version(facts: EnvironmentFacts): PublicAnswer | Promise<PublicAnswer> {
    return this.#request(facts, facts.upstream?.admin, "/version", (text) => {
      const parsed: unknown = JSON.parse(text);
      const fields = typeof parsed === "object" && parsed !== null ? parsed : {};
      const body = JSON.stringify({ ...fields, ingress_endpoint: `${facts.ingressUrl}/` });
      return { kind: "json", body, ttlMs: VERSION_TTL_MS };
    });
  }

  /** Whether the ingress answers, without any detail. Rejects when the runtime cannot be reached. */
  health(facts: EnvironmentFacts): PublicAnswer | Promise<PublicAnswer> {
    return this.#request(facts, facts.upstream?.ingress, "/restate/health", () => ({
      kind: "json",
      body: "{}",
      ttlMs: HEALTH_TTL_MS,
    }));
  }

  #request(
    facts: EnvironmentFacts,
    origin: string | undefined,
    path: string,
    parse: (text: string) => PublicAnswer,
  ): PublicAnswer | Promise<PublicAnswer> {
    if (origin === undefined) return UNAVAILABLE;
    // Another runtime or public address needs another answer.
    const key = `${facts.id} ${origin} ${facts.ingressUrl} ${path}`;
    const load = async (): Promise<PublicAnswer> => {
      const { status, text } = await this.#fetch(facts, origin, path);
      return status === 200 ? parse(text) : UNAVAILABLE;
    };
    return this.#cache.get(key, load);
  }

  #fetch({ id, upstream }: EnvironmentFacts, origin: string, path: string): Promise<{ status: number; text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const chunks: Uint8Array[] = [];
    let status = 0;
    let bytes = 0;
    let running: Dispatcher.DispatchController | undefined;
    const timer = this.#clock.setTimer(TIMEOUT_MS, () => {
      reject(new Error("the runtime did not answer in time"));
      running?.abort(new Error("too late"));
    });
    const completed = promise.finally(() => timer.cancel());
    const secret = upstream?.secret;
    const headers = secret === undefined ? [] : [RUNTIME_SECRET_HEADER, secret.reveal()];
    this.#upstreams.of(id, origin).pool.dispatch(
      { method: "GET", path, headers },
      {
        onRequestStart: (controller) => {
          running = controller;
        },
        onResponseStart: (_controller, code) => {
          status = code;
        },
        onResponseData: (controller, chunk) => {
          bytes += chunk.length;
          if (bytes > PUBLIC_ANSWER_BYTES_MAX) controller.abort(new Error("the runtime's answer is too long"));
          else chunks.push(chunk);
        },
        onResponseEnd: () => resolve({ status, text: Buffer.concat(chunks).toString("utf8") }),
        onResponseError: (_controller, cause) => reject(cause),
      },
    );
    return completed;
  }
}
