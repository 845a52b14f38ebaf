/**
 * Handlers for tests of flow control: they record when they enter and leave, so that tests can count concurrent ones. They journal nothing
 * while they hold: after a crash they enter again, and the interrupted attempt has left.
 */
import {
  type Context,
  handlers,
  type Serde,
  serde,
  service,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from "@restatedev/restate-sdk";

export interface GateRequest {
  /** Entries of one group are counted together. */
  readonly group: string;
  readonly name: string;
  /** Time that the invocation stays; undefined: until `leave` or `leaveAll`. */
  readonly ms?: number;
}

class GateGroup {
  readonly inside = new Set<string>();
  readonly came: string[] = [];
  /** Times of entering, by `performance.now()`. */
  readonly cameAtMs: number[] = [];
  readonly leaving = new Map<string, () => void>();
  mostInside = 0;
  /** Later entries leave at once. */
  isOpen = false;
}

/** Counts entries: those inside now, all in order, and the highest number inside at one time. */
class AdmissionGate {
  readonly #groups = new Map<string, GateGroup>();

  group(name: string): GateGroup {
    const existing = this.#groups.get(name) ?? new GateGroup();
    this.#groups.set(name, existing);
    return existing;
  }

  /** Resolves when the entry leaves: its time is over, it is released, or its attempt was interrupted. */
  async enter({ group: groupName, name, ms }: GateRequest, cutOff: AbortSignal): Promise<void> {
    const group = this.group(groupName);
    group.came.push(name);
    group.cameAtMs.push(performance.now());
    group.inside.add(name);
    group.mostInside = Math.max(group.mostInside, group.inside.size);
    if (!group.isOpen) {
      await new Promise<void>((resolve) => {
        group.leaving.set(name, resolve);
        cutOff.addEventListener("abort", () => resolve(), { once: true });
        if (ms !== undefined) setTimeout(resolve, ms);
      });
    }
    group.leaving.delete(name);
    group.inside.delete(name);
  }

  /** False when no entry of that name is inside. */
  leave(groupName: string, name: string): boolean {
    const leave = this.group(groupName).leaving.get(name);
    leave?.();
    return leave !== undefined;
  }

  /** Releases every entry inside, and every later one. */
  leaveAll(groupName: string): void {
    const group = this.group(groupName);
    group.isOpen = true;
    for (const leave of group.leaving.values()) leave();
  }
}

export const admissionGate = new AdmissionGate();

interface RelayRequest {
  readonly scope: string;
  readonly limitKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const gateService = service({
  name: "Gate",
  handlers: {
    pass: async (ctx: Context, request: GateRequest) => {
      await admissionGate.enter(request, ctx.request().attemptCompletedSignal);
      return request.name;
    },
    /** Enters, suspends until its awakeable is completed, enters again, and leaves. */
    nap: handlers.handler({ inactivityTimeout: 1 }, async (ctx: Context, { group, name }: GateRequest) => {
      admissionGate.group(group).came.push(name);
      const { id, promise } = ctx.awakeable<string>();
      naps.set(name, id);
      const woken = await promise;
      admissionGate.group(group).came.push(`${name} again`);
      return woken;
    }),
    /** Returns scope, limit key and headers of this invocation. */
    who: async (ctx: Context) => {
      const { scope, limitKey, idempotencyKey, headers } = ctx.request();
      return { scope, limitKey, idempotencyKey, headers: Object.fromEntries(headers) };
    },
    /** Calls `who` in another scope. */
    relay: async (ctx: Context, { scope, limitKey, headers }: RelayRequest) =>
      ctx.genericCall<null, Who>({
        service: "Gate",
        method: "who",
        parameter: null,
        inputSerde: serde.json as Serde<null>,
        outputSerde: serde.json as Serde<Who>,
        scope,
        ...(limitKey === undefined ? {} : { limitKey }),
        ...(headers === undefined ? {} : { headers: { ...headers } }),
      }),
  },
});

/** Awakeables of suspended `nap` invocations, by name. */
export const naps = new Map<string, string>();

export interface Who {
  readonly scope?: string;
  readonly limitKey?: string;
  readonly idempotencyKey?: string;
  readonly headers: Readonly<Record<string, string>>;
}

export const gateWorkflow = workflow({
  name: "GateFlow",
  handlers: {
    run: async (ctx: WorkflowContext, value: string) => {
      ctx.set("value", value);
      return ctx.promise<string>("go");
    },
    value: async (ctx: WorkflowSharedContext) => ctx.get<string>("value"),
    go: async (ctx: WorkflowSharedContext, value: string) => {
      await ctx.promise<string>("go").resolve(value);
    },
  },
});
