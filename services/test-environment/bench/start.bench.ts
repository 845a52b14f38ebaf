/** Measures starts and ends of environments, and a workflow of 30 days: `node deploy/run-ts.mjs services/test-environment/bench/start.bench.ts`. */
import * as restate from "@restatedev/restate-sdk";
import { TestEnvironment } from "../src/index.js";

const ENVIRONMENTS = 100;

const monthly = restate.workflow({
  name: "Monthly",
  handlers: {
    run: async (ctx: restate.WorkflowContext) => {
      for (let day = 0; day < 30; day++) {
        await ctx.run("remind", () => undefined);
        await ctx.sleep({ days: 1 });
      }
    },
  },
});

const startMs: number[] = [];
const workflowMs: number[] = [];
const endMs: number[] = [];
for (let round = 0; round < ENVIRONMENTS; round++) {
  const beganMs = performance.now();
  const env = await TestEnvironment.start({ services: [monthly] });
  const startedMs = performance.now();
  const workflow = env.client().workflowClient(monthly, "w");
  await workflow.workflowSubmit();
  await workflow.workflowAttach();
  const doneMs = performance.now();
  await env[Symbol.asyncDispose]();
  startMs.push(startedMs - beganMs);
  workflowMs.push(doneMs - startedMs);
  endMs.push(performance.now() - doneMs);
}

function show(what: string, values: readonly number[]): void {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  console.log(`${what}: first ${values[0]?.toFixed(1)} ms, median ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}
show("start", startMs);
show("workflow of 30 days", workflowMs);
show("end", endMs);
console.log(`all ${ENVIRONMENTS}: ${(performance.now() / 1000).toFixed(1)} s since the process began`);
