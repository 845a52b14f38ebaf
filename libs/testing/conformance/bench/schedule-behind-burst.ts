/**
 * How late a schedule of one service fires while a burst of sends of another one waits: `node deploy/run-ts.mjs
 * libs/testing/conformance/bench/schedule-behind-burst.ts [sends]`. It prints the firings of a minute schedule, seconds after their minute.
 */
import { type Context, service } from "@restatedev/restate-sdk";
import { TestWorld } from "../src/index.js";

const SENDS = Number(process.argv[2] ?? 95_000);
const AT_ONCE = 200;
/** So long that most of the burst waits when the schedule is made. */
const BUSY_MS = 30_000;
const MINUTE_MS = 60_000;
const FIRINGS = 2;

const firedAtMs: number[] = [];
const crowd = service({
  name: "Burst",
  handlers: { busy: async (_ctx: Context) => new Promise<void>((resolve) => setTimeout(resolve, BUSY_MS)) },
});
const minutely = service({ name: "Minutely", handlers: { run: async () => void firedAtMs.push(Date.now()) } });

await using world = await TestWorld.start();
await world.deploy({ services: [crowd, minutely] });
const startedAt = performance.now();
let left = SENDS;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) await world.ingress.send(["Burst", "busy"]);
  }),
);
console.log(`${SENDS} sends accepted in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
await world.admin.post("/schedules", { name: "minutely", cron: "* * * * *", target: { service: "Minutely", handler: "run" } });
const [{ waiting } = { waiting: 0 }] = await world.admin.query("SELECT count(*) AS waiting FROM sys_slot_wait");
console.log(`sends that wait for a slot when the schedule is made: ${waiting}`);
while (firedAtMs.length < FIRINGS) await new Promise<void>((resolve) => setTimeout(resolve, 100));
for (const atMs of firedAtMs) console.log(`fired ${((atMs % MINUTE_MS) / 1000).toFixed(2)} s after the minute`);
process.exit(0);
