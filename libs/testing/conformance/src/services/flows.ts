/** Workflows: run once per key, with promises and state that others may see. */
import {
  type Context,
  handlers,
  rpc,
  service,
  TerminalError,
  type WorkflowContext,
  type WorkflowSharedContext,
  workflow,
} from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";

const { shared } = handlers.workflow;

export const flowServices = (suffix: string) => {
  const flow = workflow({
    name: `Flow${suffix}`,
    handlers: {
      run: async (ctx: WorkflowContext, input: unknown) => {
        probe.bump(`flow:${suffix}:${ctx.key}`);
        ctx.set("input", input);
        const value = await ctx.promise<unknown>("go");
        ctx.set("done", true);
        return { input, value };
      },
      resolve: shared(async (ctx: WorkflowSharedContext, value: unknown) => ctx.promise("go").resolve(value)),
      reject: shared(async (ctx: WorkflowSharedContext, reason: string) => ctx.promise("go").reject(reason)),
      peek: shared(async (ctx: WorkflowSharedContext) => (await ctx.promise("go").peek()) ?? "nothing yet"),
      wait: shared(async (ctx: WorkflowSharedContext) => ctx.promise("go").get()),
      state: shared(async (ctx: WorkflowSharedContext) => ({
        input: await ctx.get("input"),
        done: await ctx.get("done"),
        keys: (await ctx.stateKeys()).sort(),
      })),
      twice: shared(async (ctx: WorkflowSharedContext, name: string) => {
        const outcomes: unknown[] = [];
        for (const value of ["one", "two"]) {
          try {
            await ctx.promise(name).resolve(value);
            outcomes.push("accepted");
          } catch (error) {
            if (!(error instanceof TerminalError)) throw error;
            outcomes.push({ code: error.code, message: error.message });
          }
        }
        return [...outcomes, await ctx.promise(name)];
      }),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  const quick = workflow({
    name: `Quick${suffix}`,
    handlers: {
      run: async (ctx: WorkflowContext, value: number) => {
        probe.bump(`quick:${suffix}:${ctx.key}`);
        ctx.set("value", value);
        return { key: ctx.key, doubled: 2 * value };
      },
      value: shared(async (ctx: WorkflowSharedContext) => ctx.get("value")),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  const failing = workflow({
    name: `FailingFlow${suffix}`,
    handlers: {
      run: async (_ctx: WorkflowContext, code: number) => {
        throw new TerminalError("the workflow broke", { errorCode: code });
      },
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  /** A workflow with a short retention: its record, state and promises are deleted soon after it has ended. */
  const brief = workflow({
    name: `Brief${suffix}`,
    handlers: {
      run: async (ctx: WorkflowContext, value: unknown) => {
        await ctx.run("count", () => probe.bump(`brief:${suffix}:${ctx.key}`));
        const before = await ctx.get("value");
        ctx.set("value", value);
        await ctx.promise("done").resolve(value);
        return { before };
      },
      value: shared(async (ctx: WorkflowSharedContext) => ctx.get("value")),
      done: shared(async (ctx: WorkflowSharedContext) => (await ctx.promise("done").peek()) ?? null),
    },
    options: { retryPolicy: QUICK_RETRIES, workflowRetention: { milliseconds: 300 } },
  });
  const caller = service({
    name: `FlowCaller${suffix}`,
    handlers: {
      drive: async (ctx: Context, key: string) => {
        const run = ctx.workflowClient(flow, key).run("from a handler");
        await ctx.workflowClient(flow, key).resolve("driven");
        return run;
      },
      again: async (ctx: Context, key: string) => {
        const first = await ctx.workflowClient(quick, key).run(4);
        try {
          return { first, second: await ctx.workflowClient(quick, key).run(5) };
        } catch (error) {
          if (!(error instanceof TerminalError)) throw error;
          return { first, code: error.code, message: error.message };
        }
      },
      sendThenAttach: async (ctx: Context, key: string) =>
        ctx.attach(await ctx.workflowSendClient(quick, key).run(8).invocationId),
      later: async (ctx: Context, { key, delay }: { key: string; delay: number }) =>
        ctx.workflowSendClient(quick, key).run(3, rpc.sendOpts({ delay })).invocationId,
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
  return { flow, quick, failing, brief, caller };
};
