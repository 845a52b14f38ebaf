/** Callers that each send the next request when they have the answer: requests per second, latencies, and CPU for each. */
import { callMany, post } from "../harness/calls.js";
import { perInvocationUs } from "../harness/figures.js";
import { type Goal, type Row, ratioAtLeast, ratioAtMost, withCpu } from "../harness/row.js";
import { COUNTERS, WORKLOADS, type WorkloadName, wrk, wrkAnswered } from "../harness/wrk.js";

interface Goals {
  readonly perSecond?: Goal;
  readonly p50?: Goal;
  readonly p99?: Goal;
  readonly cpuUs?: Goal;
}

interface Plan {
  readonly name: string;
  readonly workload: WorkloadName;
  readonly connections: number;
  readonly goals?: Goals;
  readonly goalsBesideBurners?: Goals;
  readonly isChecked?: boolean;
}

const PLANS: readonly Plan[] = [
  {
    name: "noop-1",
    workload: "noop",
    connections: 1,
    goals: { p50: ratioAtMost(0.3) },
    goalsBesideBurners: { p50: ratioAtMost(0.8) },
  },
  { name: "noop-2", workload: "noop", connections: 2 },
  { name: "noop-8", workload: "noop", connections: 8 },
  {
    name: "noop-64",
    workload: "noop",
    connections: 64,
    goals: { perSecond: ratioAtLeast(5), p99: ratioAtMost(0.4), cpuUs: ratioAtMost(0.18) },
    isChecked: true,
  },
  { name: "noop-256", workload: "noop", connections: 256 },
  {
    name: "three-64",
    workload: "three",
    connections: 64,
    goals: { perSecond: ratioAtLeast(6), p99: ratioAtMost(0.35), cpuUs: ratioAtMost(0.15) },
    isChecked: true,
  },
  { name: "counter-64", workload: "counter", connections: 64, isChecked: true },
  { name: "fan-ten-16", workload: "fanTen", connections: 16, isChecked: true },
  {
    name: "ten-1",
    workload: "ten",
    connections: 1,
    goals: { p50: ratioAtMost(0.4) },
    goalsBesideBurners: { p50: ratioAtMost(1) },
    isChecked: true,
  },
];

export const rows: readonly Row[] = PLANS.flatMap((plan) => [
  rowOf(plan, plan.goals ?? {}, false),
  rowOf(plan, plan.goalsBesideBurners ?? {}, true),
]);

function rowOf({ name, workload, connections, isChecked }: Plan, goals: Goals, isBesideBurners: boolean): Row {
  const withGoal = (key: keyof Goals): { readonly goal?: Goal } => (goals[key] === undefined ? {} : { goal: goals[key] });
  const callers = connections === 1 ? "1 connection" : `${connections} connections`;
  return {
    name: isBesideBurners ? `${name}-burning` : name,
    title: `${WORKLOADS[workload].title}, ${callers}${isBesideBurners ? ", beside one process that burns each core" : ""}`,
    secondsMax: 240,
    isBesideBurners,
    isChecked: isChecked === true && !isBesideBurners,
    figures: {
      perSecond: { title: "requests", unit: "/s", ...withGoal("perSecond") },
      p50: { title: "p50", unit: "ms", ...withGoal("p50") },
      p99: { title: "p99", unit: "ms", ...withGoal("p99") },
      cpuUs: { title: "server CPU per invocation", unit: "µs", isCpu: true, ...withGoal("cpuUs") },
      endpointUs: { title: "endpoint CPU per invocation", unit: "µs" },
      callersUs: { title: "load generator CPU per invocation", unit: "µs" },
    },
    prepare: async ({ server, seconds, signal }) => {
      await wrk(server.ingress, workload, connections, seconds / 4, { signal });
    },
    measure: async (run) => {
      const { server, seconds, signal } = run;
      const added = workload === "counter" ? await sumOfCounters(run.server, signal) : 0;
      const { result, cpu } = await withCpu(run, () => wrkAnswered(server.ingress, workload, connections, seconds, { signal }));
      if (workload === "counter") {
        const isCounted = (await sumOfCounters(server, signal)) - added;
        // What was under way at the end was not answered to the load generator any more, and counts with the server.
        if (isCounted < result.requests || isCounted > result.requests + 2 * connections)
          throw new Error(`the counters grew by ${isCounted} with ${result.requests} requests`);
      }
      return {
        perSecond: result.perSecond,
        p50: result.p50,
        p99: result.p99,
        cpuUs: perInvocationUs(cpu.server, result.requests),
        endpointUs: perInvocationUs(cpu.endpoint, result.requests),
        callersUs: perInvocationUs(cpu.callers, result.requests),
      };
    },
  };
}

async function sumOfCounters(server: Parameters<typeof post>[0], signal: AbortSignal): Promise<number> {
  let sum = 0;
  await callMany(COUNTERS, async (n) => {
    const value = Number(await post(server, `Counter/k${n}/read`, undefined, signal));
    sum += value;
  });
  return sum;
}
