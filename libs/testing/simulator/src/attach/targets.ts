/** Draws invocations to attach to: of others, in any partition, in flight, over, deleted, not submitted yet, or never there. */
import { type InvocationId, idempotentInvocationId, newInvocationId, workflowInvocationId } from "@perdure/base";
import type { AttachTarget } from "@perdure/service-protocol";
import { isWorkflowRun } from "@perdure/state-machine";
import type { HandlerProgram, ProgramOperation } from "../endpoint/program.js";
import type { GenerationRecord } from "../ledger/generation-record.js";
import type { SimulatedWorld } from "../world.js";
import type { AttachSettings } from "./settings.js";

const IDEMPOTENCY_KEYS = ["c1", "c2", "i1", "i2", "i3"] as const;

export class AttachTargets {
  readonly #world: SimulatedWorld;
  /** Ids of the requests of callers, also of those that no leader has accepted yet. */
  readonly #requested: InvocationId[] = [];

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  requested(id: InvocationId): void {
    this.#requested.push(id);
  }

  /** Returns the program with attachments at random places. */
  withAttachments({ operations }: HandlerProgram, { share, attachmentsMax }: AttachSettings): HandlerProgram {
    const { random } = this.#world.scheduler;
    if (!random.chance(share)) return { operations };
    const longer = [...operations];
    for (let left = 1 + random.below(attachmentsMax); left > 0; left--)
      longer.splice(random.below(longer.length + 1), 0, this.#operation());
    return { operations: longer };
  }

  #operation(): ProgramOperation {
    const { random } = this.#world.scheduler;
    const target = this.draw();
    return random.chance(0.25) ? { op: "outputOf", target } : { op: "attachTo", target, later: random.chance(0.5) };
  }

  draw(): AttachTarget {
    const { random, clock } = this.#world.scheduler;
    switch (random.below(10)) {
      case 0:
        return byId(newInvocationId({ service: "S", handler: "h", key: undefined }, clock.nowMs(), random));
      case 1:
        return { kind: "workflow", workflowName: "W", workflowKey: random.pick(["w1", "w2", "own1", "own2"]), scope: undefined };
      case 2:
        return this.#idempotentRequest();
      case 3:
      case 4:
        return this.#requested.length === 0 ? this.#idempotentRequest() : byId(random.pick(this.#requested));
      default:
        return this.#stored();
    }
  }

  #idempotentRequest(): AttachTarget {
    const { scheduler, settings } = this.#world;
    const { random } = scheduler;
    const idempotencyKey = random.pick(IDEMPOTENCY_KEYS);
    const object = `k${random.below(settings.objects)}`;
    return random.chance(0.5)
      ? idempotent("S", undefined, "h", idempotencyKey)
      : idempotent("O", object, random.pick(["h", "r"]), idempotencyKey);
  }

  /** One that became durable, with any status. */
  #stored(): AttachTarget {
    const { ledger, scheduler } = this.#world;
    const { random } = scheduler;
    const unfinished = [...ledger.unfinished()];
    const candidates = unfinished.length > 0 && random.chance(0.6) ? unfinished : [...ledger.generations()];
    return candidates.length === 0 ? this.#idempotentRequest() : this.#targetOf(random.pick(candidates));
  }

  #targetOf({ id, facts }: GenerationRecord): AttachTarget {
    const { random } = this.#world.scheduler;
    const { service, key = "", handler, scope } = facts.target;
    // Only newer protocols can name a scope.
    if (scope !== undefined || random.chance(0.4)) return byId(id);
    if (isWorkflowRun(facts.target)) return { kind: "workflow", workflowName: service, workflowKey: key, scope };
    if (facts.idempotencyKey === undefined) return byId(id);
    return idempotent(service, service === "S" ? undefined : key, handler, facts.idempotencyKey);
  }
}

/** The invocation that an attachment names; simulated targets have no scope. */
export function attachedInvocation(target: AttachTarget): InvocationId {
  switch (target.kind) {
    case "invocationId":
      return target.invocationId as InvocationId;
    case "workflow":
      return workflowInvocationId(target.workflowName, target.workflowKey);
    case "idempotentRequest": {
      const { serviceName: service, handlerName: handler, serviceKey: key, idempotencyKey } = target;
      return idempotentInvocationId({ service, handler, key }, idempotencyKey);
    }
  }
}

function byId(invocationId: InvocationId): AttachTarget {
  return { kind: "invocationId", invocationId };
}

function idempotent(
  serviceName: string,
  serviceKey: string | undefined,
  handlerName: string,
  idempotencyKey: string,
): AttachTarget {
  return { kind: "idempotentRequest", serviceName, serviceKey, handlerName, idempotencyKey, scope: undefined };
}
