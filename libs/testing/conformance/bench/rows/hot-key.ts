/** Many invocations of one object, which run one after the other. */
import { callMany, post } from "../harness/calls.js";
import { until } from "../harness/processes.js";
import { expectEqual, type Row, withCpu } from "../harness/row.js";

const QUEUED = 3_000;

export const rows: readonly Row[] = [
  {
    name: "hot-key-3000",
    title: `one key with ${QUEUED.toLocaleString("en")} queued`,
    secondsMax: 300,
    isChecked: true,
    figures: {
      cpuUs: { title: "server CPU per invocation", unit: "µs", isCpu: true },
      drainMs: { title: "from the first call until all are done", unit: "ms" },
    },
    measure: async (run) => {
      const { server, firstId, signal } = run;
      const count = run.isShort ? 100 : QUEUED;
      const key = `Counter/hot-${firstId}`;
      const read = async (): Promise<number> => Number(await post(server, `${key}/read`, undefined, signal));
      const { cpu, ms } = await withCpu(run, async () => {
        await callMany(count, () => post(server, `${key}/add/send`, undefined, signal));
        await until("the queue to be empty", async () => (await read()) >= count, { withinMs: 280_000, pollMs: 200, signal });
      });
      expectEqual("the counter", await read(), count);
      return { cpuUs: (cpu.server / count) * 1e6, drainMs: ms };
    },
  },
];
