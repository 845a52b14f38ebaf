/** Sends invocations to the gate service in tests of scopes and rules, and returns which are inside and which wait. */
import { eventually, type HttpAnswer, type TestWorld } from "../src/index.js";
import { admissionGate, type GateRequest } from "../src/services/admission-gate.js";

export interface Choice {
  readonly limitKey?: string;
  readonly priority?: number;
  readonly idempotencyKey?: string;
}

export interface Gate {
  /** Calls or sends in a scope; `path` is what stands behind the verb. */
  scoped(scope: string, verb: "call" | "send", path: string, json: unknown, choice?: Choice): Promise<HttpAnswer>;
  /** Sends an invocation and returns its id. */
  send(scope: string, request: GateRequest, choice?: Choice): Promise<string>;
  rules(...changes: readonly object[]): Promise<void>;
  /** Until so many are inside. */
  inside(group: string, count: number): Promise<unknown>;
  /** Returns the number of waiting invocations of a scope. */
  waiting(scope: string): Promise<number>;
  done(ids: readonly string[]): Promise<unknown[]>;
}

/** Returns a gate of the world that exists when the gate is called. */
export function gate(world: () => TestWorld): Gate {
  const own: Gate = {
    scoped(scope, verb, path, json, choice = {}) {
      const headers = {
        ...(choice.limitKey === undefined ? {} : { "x-restate-limit-key": choice.limitKey }),
        ...(choice.priority === undefined ? {} : { "x-perdure-priority": String(choice.priority) }),
        ...(choice.idempotencyKey === undefined ? {} : { "idempotency-key": choice.idempotencyKey }),
      };
      const { http } = world().ingress;
      return http.request("POST", `/restate/scope/${scope}/${verb}/${path}`, { json, headers, withinMs: 60_000 });
    },
    async send(scope, request, choice) {
      const answer = await own.scoped(scope, "send", "Gate/pass", request, choice);
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      return (answer.json as { invocationId: string }).invocationId;
    },
    async rules(...changes) {
      const answer = await world().admin.http.request("PUT", "/limits/rules", { json: changes });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    },
    inside(group, count) {
      const { inside } = admissionGate.group(group);
      return eventually(`${count} inside ${group}, now ${inside.size}`, () => inside.size === count);
    },
    async waiting(scope) {
      const [row] = await world().admin.query(`select sum(num_inbox) as n from sys_vqueue_meta where scope = '${scope}'`);
      return Number(row?.["n"] ?? 0);
    },
    done: (ids) => Promise.all(ids.map((id) => world().ingress.outcome(id, 60_000))),
  };
  return own;
}
