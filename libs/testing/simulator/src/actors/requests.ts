/** Draws the requests of callers. */
import {
  type InvocationId,
  idempotentInvocationId,
  newInvocationId,
  siblingInvocationId,
  utf8,
  workflowInvocationId,
} from "@perdure/base";
import { type HandlerView, type RegistryView, retentionsOf } from "@perdure/control";
import { encodeInput } from "@perdure/service-protocol";
import { type InvocationFacts, type Invoke, type Target, throttleRowId } from "@perdure/state-machine";
import type { AttachTargets } from "../attach/targets.js";
import type { DebounceSettings } from "../debounce/settings.js";
import { drawRequest } from "../endpoint/draw-program.js";
import type { Assignment, CalledHandler, HandlerProgram } from "../endpoint/program.js";
import type { ThrottleSettings } from "../throttle/settings.js";
import { partitionFor, type SimulatedWorld } from "../world.js";

const SLEEPING: CalledHandler = { service: "S", handler: "h", key: "" };

export class RequestFactory {
  readonly #world: SimulatedWorld;
  readonly #registry: RegistryView;
  readonly #targets: AttachTargets;
  #workflows = 0;
  #requests = 0;

  constructor(world: SimulatedWorld, registry: RegistryView, targets: AttachTargets) {
    this.#world = world;
    this.#targets = targets;
    this.#registry = registry;
  }

  /** A delayed invocation of the partition that starts at `atMs` and does nothing. */
  scheduledInvocation(partition: number, atMs: number): Invoke {
    const { random, clock } = this.#world.scheduler;
    const { target, handler } = this.#called(SLEEPING, undefined);
    const nowMs = clock.nowMs();
    let id = newInvocationId(target, nowMs, random);
    while (partitionFor(this.#world, id) !== partition) id = newInvocationId(target, nowMs, random);
    const facts = this.#facts(id, target, handler, undefined);
    return this.#invoke({ ...facts, executionTimeMs: atMs }, { operations: [] });
  }

  draw(): Invoke {
    const request = this.#draw();
    this.#targets.requested(request.id);
    return request;
  }

  #draw(): Invoke {
    const { random, clock } = this.#world.scheduler;
    const { flow, attach } = this.#world.settings;
    const next = () =>
      drawRequest(random, this.#world.settings.objects, () =>
        random.chance(0.4) ? random.pick(["w1", "w2"]) : `own${++this.#workflows}`,
      );
    let { to, program } = this.#world.settings.crowd !== undefined && random.chance(0.15) ? this.#reader() : next();
    // Most competitors for slots are plain services.
    for (let n = 0; flow !== undefined && to.service !== "S" && n < 3; n++) ({ to, program } = next());
    const scope = flow !== undefined && to.service === "S" && random.chance(0.9) ? random.pick(flow.scopes) : undefined;
    if (attach !== undefined) program = this.#targets.withAttachments(program, attach);
    const { target, handler } = this.#called(to, scope);
    const { handlerType } = target;
    const idempotencyKey = handlerType !== "workflow" && random.chance(0.25) ? random.pick(["c1", "c2"]) : undefined;
    const nowMs = clock.nowMs();
    const id =
      handlerType === "workflow"
        ? workflowInvocationId(to.service, to.key)
        : idempotencyKey === undefined
          ? newInvocationId(target, nowMs, random)
          : idempotentInvocationId(target, idempotencyKey);
    const { debounce } = this.#world.settings;
    if (debounce !== undefined && handlerType !== "workflow" && random.chance(debounce.share))
      return this.#invoke(this.#debounced(target, handler, debounce), program);
    const { throttle } = this.#world.settings;
    if (throttle !== undefined && handlerType !== "workflow" && random.chance(throttle.share))
      return this.#throttled(target, handler, throttle, idempotencyKey, program);
    const facts: InvocationFacts = {
      ...this.#facts(id, target, handler, idempotencyKey),
      limitKey: scope === undefined || flow === undefined ? undefined : random.pick(flow.limitKeys),
      priority: scope === undefined ? 3 : random.pick([1, 3, 3, 3, 5]),
      executionTimeMs: random.chance(0.1) ? nowMs + random.below(5_000) : undefined,
    };
    return this.#invoke(facts, program);
  }

  /** A handler that waits for a promise, perhaps together with others, and sends an invocation that completes it. */
  #reader(): { readonly to: CalledHandler; readonly program: HandlerProgram } {
    const { random } = this.#world.scheduler;
    const to: CalledHandler = { service: "W", handler: "h", key: random.pick(["w1", "w2"]) };
    return { to, program: { operations: [{ op: "getPromise", name: random.pick(["p", "q"]), helped: true, later: false }] } };
  }

  #called(to: CalledHandler, scope: string | undefined): { readonly target: Target; readonly handler: HandlerView } {
    const handler = this.#registry.current().services.get(to.service)?.handlers.get(to.handler);
    if (handler === undefined) throw new Error(`the registry has no ${to.service}/${to.handler}`);
    const { serviceType, handlerType } = handler;
    const key = serviceType === "service" ? undefined : to.key;
    return { target: { scope, service: to.service, key, handler: to.handler, serviceType, handlerType }, handler };
  }

  #debounced(target: Target, handler: HandlerView, { keys, quietMs, maxMs }: DebounceSettings): InvocationFacts {
    const { random, clock } = this.#world.scheduler;
    const nowMs = clock.nowMs();
    const key = random.pick(keys);
    const id = siblingInvocationId(idempotentInvocationId(target, key), nowMs, random);
    return {
      ...this.#facts(id, target, handler, undefined),
      executionTimeMs: nowMs + quietMs,
      debounce: { key, startByMs: nowMs + maxMs, sendCount: 1 },
    };
  }

  /** As the ingress does; see `throttledInvocationId`. Plain services have no idempotency key here, whose id would be in another partition. */
  #throttled(
    target: Target,
    handler: HandlerView,
    { keys, periodMs, limit }: ThrottleSettings,
    idempotencyKey: string | undefined,
    program: HandlerProgram,
  ): Invoke {
    const { random, clock } = this.#world.scheduler;
    const key = random.pick(keys);
    const ownKey = target.key === undefined ? undefined : idempotencyKey;
    const id =
      ownKey === undefined
        ? siblingInvocationId(throttleRowId(target, key), clock.nowMs(), random)
        : idempotentInvocationId(target, ownKey);
    return { ...this.#invoke(this.#facts(id, target, handler, ownKey), program), throttle: { key, periodMs, limit } };
  }

  #facts(id: InvocationId, target: Target, handler: HandlerView, idempotencyKey: string | undefined): InvocationFacts {
    const retentions = retentionsOf(handler, idempotencyKey);
    return {
      id,
      target,
      source: { kind: "ingress" },
      idempotencyKey,
      limitKey: undefined,
      priority: 3,
      requestId: ++this.#requests,
      createdAtMs: this.#world.scheduler.clock.nowMs(),
      executionTimeMs: undefined,
      completionRetentionMs: retentions.completionMs,
      journalRetentionMs: retentions.journalMs,
      randomSeed: undefined,
      trace: undefined,
      bytes: undefined,
    };
  }

  #invoke(facts: InvocationFacts, program: HandlerProgram): Invoke {
    const assignment: Assignment = { program, sink: undefined };
    // No two debounced requests have the same input.
    const headers = facts.debounce === undefined ? [] : [{ key: "request", value: String(facts.requestId) }];
    const input = encodeInput(headers, utf8(JSON.stringify(assignment)));
    return { kind: "invoke", id: facts.id, facts, input, sink: undefined };
  }
}
