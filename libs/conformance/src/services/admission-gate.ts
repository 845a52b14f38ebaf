/**
 * Why: what flow control promises is about who runs at the same time, so these handlers say when they come and go. They do not
 * journal anything while they hold: after a crash they come again, and the attempt that was cut off has gone.
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
  /** Counted together with others of the same group. */
  readonly group: string;
  readonly name: string;
  /** How long it stays; until `leave` or `leaveAll` lets it go when not given. */
  readonly ms?: number;
}

class GateGroup {
  readonly inside = new Set<string>();
  readonly came: string[] = [];
  /** By `performance.now()`. */
  readonly cameAtMs: number[] = [];
  readonly leaving = new Map<string, () => void>();
  mostInside = 0;
  /** Whoever comes now does not stay. */
  isOpen = false;
}

/** Who is inside now, who came in which order, and how many were inside at most. */
export class AdmissionGate {
  readonly #groups = new Map<string, GateGroup>();

  group(name: string): GateGroup {
    const existing = this.#groups.get(name) ?? new GateGroup();
    this.#groups.set(name, existing);
    return existing;
  }

  /** Resolves when the visitor leaves: its time is over, it is let go, or its attempt was cut off. */
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

  /** False when nobody of that name is inside. */
  leave(groupName: string, name: string): boolean {
    const leave = this.group(groupName).leaving.get(name);
    leave?.();
    return leave !== undefined;
  }

  /** Everybody inside, and everybody who comes later. */
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
    /** Comes, is suspended until somebody completes its awakeable, comes again, and goes. */
    nap: handlers.handler({ inactivityTimeout: 1 }, async (ctx: Context, { group, name }: GateRequest) => {
      admissionGate.group(group).came.push(name);
      const { id, promise } = ctx.awakeable<string>();
      naps.set(name, id);
      const woken = await promise;
      admissionGate.group(group).came.push(`${name} again`);
      return woken;
    }),
    /** Who this invocation is to flow control, and what headers it sees. */
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

/** Awakeables of those who nap, by name. */
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
