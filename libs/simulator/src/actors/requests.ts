/** Draws what callers ask for. */
import { idempotentInvocationId, newInvocationId, utf8, workflowInvocationId } from "@perdure/base";
import { type RegistryView, retentionsOf } from "@perdure/control";
import type { Invoke, Target } from "@perdure/partition";
import { encodeInput } from "@perdure/service-protocol";
import { drawRequest } from "../endpoint/draw-program.js";
import type { Assignment } from "../endpoint/program.js";
import type { World } from "../world.js";

export class Requests {
  readonly #world: World;
  readonly #registry: RegistryView;
  #workflows = 0;
  #requests = 0;

  constructor(world: World, registry: RegistryView) {
    this.#world = world;
    this.#registry = registry;
  }

  draw(): Invoke {
    const { random, clock } = this.#world.scheduler;
    const { flow } = this.#world.settings;
    const next = () =>
      drawRequest(random, this.#world.settings.objects, () =>
        random.chance(0.4) ? random.pick(["w1", "w2"]) : `own${++this.#workflows}`,
      );
    let { to, program } = next();
    // What competes for slots are mostly plain services.
    for (let n = 0; flow !== undefined && to.service !== "S" && n < 3; n++) ({ to, program } = next());
    const handler = this.#registry.current().services.get(to.service)?.handlers.get(to.handler);
    if (handler === undefined) throw new Error(`the registry knows ${to.service}/${to.handler}`);
    const { serviceType, handlerType } = handler;
    const key = serviceType === "service" ? undefined : to.key;
    const scope = flow !== undefined && to.service === "S" && random.chance(0.9) ? random.pick(flow.scopes) : undefined;
    const target: Target = { scope, service: to.service, key, handler: to.handler, serviceType, handlerType };
    const idempotencyKey = handlerType !== "workflow" && random.chance(0.25) ? random.pick(["c1", "c2"]) : undefined;
    const nowMs = clock.nowMs();
    const id =
      handlerType === "workflow"
        ? workflowInvocationId(to.service, to.key)
        : idempotencyKey === undefined
          ? newInvocationId(target, nowMs, random)
          : idempotentInvocationId(target, idempotencyKey);
    const retentions = retentionsOf(handler, idempotencyKey);
    const assignment: Assignment = { program, tell: undefined };
    return {
      kind: "invoke",
      id,
      facts: {
        id,
        target,
        source: { kind: "ingress" },
        idempotencyKey,
        limitKey: scope === undefined || flow === undefined ? undefined : random.pick(flow.limitKeys),
        priority: scope === undefined ? 3 : random.pick([1, 3, 3, 3, 5]),
        requestId: ++this.#requests,
        createdAtMs: nowMs,
        executionTimeMs: random.chance(0.1) ? nowMs + random.below(5_000) : undefined,
        completionRetentionMs: retentions.completionMs,
        journalRetentionMs: retentions.journalMs,
        randomSeed: undefined,
        trace: undefined,
        bytes: undefined,
      },
      input: encodeInput([], utf8(JSON.stringify(assignment))),
      sink: undefined,
    };
  }
}
