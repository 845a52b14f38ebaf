/** Handlers that use every feature that a failover could break: steps, sleeps, state, calls, sends, awakeables, promises. */
import {
  type Context,
  handlers,
  type ObjectContext,
  type ObjectSharedContext,
  object,
  RestatePromise,
  service,
  TerminalError,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from "@restatedev/restate-sdk";
import type { ServiceDefinitions } from "../sdk-endpoint.js";
import { QUICK_RETRIES } from "../services/common.js";
import type { HandlerRecord } from "./record.js";

export interface ChaosJob {
  /** Unique. */
  readonly name: string;
  readonly steps: number;
  readonly sleepMs: number;
  /** The first is called in every step, the second is sent to. */
  readonly counters: readonly [called: string, sent: string];
  /** Whether it creates an awakeable and waits for it before it ends. */
  readonly waits: boolean;
  /** Number of nested calls to children. */
  readonly depth: number;
}

/** The argument of an addition, which identifies it. */
interface Addition {
  readonly token: string;
  readonly by: number;
}

/** Returns the amount that a job and its children add to each of its two counters. */
export function additionsOf({ steps, depth }: ChaosJob): number {
  return steps * (depth + 1);
}

export function resolutionOf(name: string): string {
  return `resolved ${name}`;
}

const options = { retryPolicy: QUICK_RETRIES } as const;

export function chaosServices(record: HandlerRecord): ServiceDefinitions {
  const counter = object({
    name: "ChaosCounter",
    handlers: {
      add: async (ctx: ObjectContext, { token, by }: Addition) => {
        const attempt = record.attempt(ctx.request().id, `${ctx.key} ${token}`);
        const sum = ((await ctx.get<number>("sum")) ?? 0) + by;
        ctx.set("sum", sum);
        await ctx.run("look", () => sum);
        attempt.progressed();
        record.added(ctx.key, token, sum);
        return sum;
      },
      sum: handlers.object.shared(async (ctx: ObjectSharedContext) => (await ctx.get<number>("sum")) ?? 0),
    },
    options,
  });

  const job = service({
    name: "ChaosJob",
    handlers: {
      work: async (ctx: Context, job: ChaosJob): Promise<string[]> => {
        const { name, counters, depth } = job;
        const attempt = record.attempt(ctx.request().id, name);
        const values: string[] = [];
        for (let step = 0; step < job.steps; step++) {
          const value = await ctx.run(`step ${step}`, () => attempt.execute());
          attempt.saw(step, value);
          values.push(value);
          const addition = { token: `${name}/${step}`, by: 1 };
          ctx.objectSendClient(counter, counters[1]).add({ ...addition, token: `${addition.token} sent` });
          await RestatePromise.all([ctx.sleep(job.sleepMs), ctx.objectClient(counter, counters[0]).add(addition)]);
          attempt.progressed();
        }
        if (depth > 0) {
          const child: ChaosJob = { ...job, name: `${name}+`, depth: depth - 1, waits: false };
          // TypeScript cannot infer the type of a service in its own handler.
          const children = await ctx.genericCall<ChaosJob, string[]>({
            service: "ChaosJob",
            method: "work",
            parameter: child,
            inputSerde: JSON_SERDE,
            outputSerde: JSON_SERDE,
          });
          values.push(...children);
        }
        if (job.waits) {
          const { id, promise } = ctx.awakeable<string>();
          await ctx.run("tell", () => record.onAwakeable({ id, name }));
          const value = await promise;
          attempt.saw("awakeable", value);
          values.push(value);
        }
        attempt.ended();
        return values;
      },
    },
    options,
  });

  const flow = workflow({
    name: "ChaosFlow",
    handlers: {
      run: async (ctx: WorkflowContext): Promise<string[]> => {
        const attempt = record.attempt(ctx.request().id, ctx.key);
        const value = await ctx.run("step", () => attempt.execute());
        attempt.saw(0, value);
        const message = await ctx.promise<string>("word");
        attempt.saw("word", message);
        attempt.ended();
        return [value, message];
      },
      /** A second request finds the promise resolved. */
      say: async (ctx: WorkflowSharedContext, message: string): Promise<void> => {
        if ((await ctx.promise<string>("word").peek()) !== undefined) return;
        try {
          await ctx.promise<string>("word").resolve(message);
        } catch (cause) {
          if (!(cause instanceof TerminalError)) throw cause; // Another caller resolved it meanwhile.
        }
      },
    },
    options,
  });

  return [counter, job, flow];
}

const JSON_SERDE = {
  contentType: "application/json",
  serialize: (value: unknown) => new TextEncoder().encode(JSON.stringify(value)),
  deserialize: (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)),
};
