/** Invocations that wait in different ways between two steps, for operations that end them and are undone. */
import { type Context, type ObjectContext, object, service, type WorkflowContext, workflow } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";

interface UndoJob {
  /** Name of the job; its steps are counted under it. */
  readonly name: string;
  /** Objects and sleeps of jobs. */
  readonly key: string;
  readonly sleepMs: number;
}

/** Name of the counter of a step. */
export const stepOf = (name: string, step: string) => `undo step ${step}: ${name}`;
/** Name of the probe that ends the failures of a job. */
export const isReady = (name: string) => `undo ready: ${name}`;
/** Name of the probe with the id of a job's awakeable. */
export const awakeableOf = (name: string) => `undo awakeable: ${name}`;

async function step(ctx: Context, name: string, which: string): Promise<string> {
  return ctx.run(which, () => {
    probe.bump(stepOf(name, which));
    return `${which} of ${name}`;
  });
}

/** Waits for an awakeable that the test resolves. */
async function untilReleased(ctx: Context, name: string): Promise<string> {
  const { id, promise } = ctx.awakeable<string>();
  await ctx.run("publish", () => probe.put(awakeableOf(name), id));
  return promise;
}

const undoObject = object({
  name: "UndoObject",
  handlers: {
    /** Holds the lock of its key until the test releases it. */
    block: async (ctx: ObjectContext, job: UndoJob) => {
      ctx.set("count", ((await ctx.get<number>("count")) ?? 0) + 1);
      return untilReleased(ctx, job.name);
    },
    /** Holds the lock of its key while it sleeps. */
    hold: async (ctx: ObjectContext, job: UndoJob) => {
      const count = ((await ctx.get<number>("count")) ?? 0) + 1;
      ctx.set("count", count);
      await step(ctx, job.name, "held");
      await ctx.sleep(job.sleepMs);
      return job.name;
    },
    count: async (ctx: ObjectContext) => (await ctx.get<number>("count")) ?? 0,
  },
  options: { inactivityTimeout: 1 },
});

const undoWorkflow = workflow({
  name: "UndoWorkflow",
  handlers: {
    run: async (ctx: WorkflowContext, job: UndoJob) => {
      ctx.set("name", job.name);
      await step(ctx, job.name, "first");
      const value = await ctx.promise<string>("release");
      return `${job.name} ${value}`;
    },
    release: async (ctx: { promise<T>(name: string): { resolve(value: T): Promise<void> } }, value: string) => {
      await ctx.promise<string>("release").resolve(value);
    },
  },
  options: { inactivityTimeout: 1 },
});

const undoJobs = service({
  name: "UndoJobs",
  handlers: {
    /** Sleeps between its steps. */
    sleeps: async (ctx: Context, { name, sleepMs }: UndoJob) => {
      const first = await step(ctx, name, "first");
      await ctx.sleep(sleepMs);
      return [first, await step(ctx, name, "second")];
    },
    /** Fails between its steps until it is ready. */
    retries: async (ctx: Context, { name }: UndoJob) => {
      const first = await step(ctx, name, "first");
      if (probe.get(isReady(name)) === undefined) throw new Error("not ready yet");
      return [first, await step(ctx, name, "second")];
    },
    /** Waits for an awakeable between its steps. */
    waits: async (ctx: Context, { name }: UndoJob) => {
      const first = await step(ctx, name, "first");
      const value = await untilReleased(ctx, name);
      return [first, value, await step(ctx, name, "second")];
    },
    /** Calls an object that is busy. */
    calls: async (ctx: Context, job: UndoJob) => {
      const first = await step(ctx, job.name, "first");
      const held = await ctx.objectClient(undoObject, job.key).hold(job);
      return [first, held, await step(ctx, job.name, "second")];
    },
  },
  options: { inactivityTimeout: 1 },
});

export const undoServices = [undoJobs, undoObject, undoWorkflow];
