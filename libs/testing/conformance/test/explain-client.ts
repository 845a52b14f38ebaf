/** Creates invocations that wait, for tests that explain why they wait. */
import { eventually, type TestWorld } from "../src/index.js";

export interface Leaf {
  readonly kind: string;
  readonly [field: string]: unknown;
}
export interface Tree {
  readonly wants: string;
  readonly of: readonly (Leaf | Tree)[];
}
export interface Explained {
  readonly id: string;
  readonly target: string;
  readonly status: string;
  readonly since: string;
  readonly sentence: string;
  readonly waits_for: { readonly kind: string; readonly awaiting?: Tree; readonly [field: string]: unknown };
  readonly chain: readonly { readonly relation: string; readonly id: string; readonly status: string; readonly target: string }[];
  readonly blocked_by: { readonly relation: string; readonly id: string } | null;
  readonly deadlock: { readonly invocations: readonly string[]; readonly certain: boolean } | null;
  readonly remedies: readonly { readonly request: string; readonly effect: string }[];
  readonly deployment: { readonly id: string | null; readonly state: string; readonly pinned: boolean };
}

let names = 0;
/** A new name for an awakeable, a key, or anything else that must be unique. */
export const newName = () => `stuck-${++names}`;

export interface ExplainClient {
  explain(id: string, prefix?: string): Promise<Explained>;
  /** The explanation, once the invocation has come to rest there. */
  untilStatus(id: string, status: string): Promise<Explained>;
  /** Calls a handler of the service `Stuck`, and answers the id of the invocation. */
  send(handler: string, argument?: unknown): Promise<string>;
}

/** Returns a client of the world that exists when the client is called. */
export function explainClient(world: () => TestWorld): ExplainClient {
  const own: ExplainClient = {
    async explain(id, prefix = "") {
      const answer = await world().admin.get(`${prefix}/invocations/${id}/explain`);
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
      return answer.json as Explained;
    },
    untilStatus: (id, status) =>
      eventually(`${status} of ${id}`, async () => {
        const explained = await own.explain(id);
        return explained.status === status && explained;
      }),
    send: async (handler, argument) => (await world().ingress.send(["Stuck", handler], argument)).invocationId,
  };
  return own;
}
