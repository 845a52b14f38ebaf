/**
 * An endpoint in a process of its own, to be killed: `endpoint.ts <port> <file>`. It writes a line to the file for every step that it
 * runs, synchronously, and prints a line when it listens.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Context, serve, service } from "@restatedev/restate-sdk";

const [port, file] = process.argv.slice(2);
if (port === undefined || file === undefined) throw new Error("usage: endpoint.ts <port> <file>");

const fragile = service({
  name: "Fragile",
  handlers: {
    /** Runs as many steps of `ms` each; the values have the id of their process. */
    walk: async (ctx: Context, { name, steps, ms }: { name: string; steps: number; ms: number }) => {
      const values: string[] = [];
      for (let step = 0; step < steps; step++) {
        values.push(
          await ctx.run(`step ${step}`, async () => {
            appendFileSync(file, `${name}/${step}\n`);
            await delay(ms);
            return `${step} in ${process.pid}`;
          }),
        );
      }
      return values;
    },
  },
  options: { retryPolicy: { initialInterval: 10, maxInterval: 50, maxAttempts: 1_000 } },
});

await serve({ services: [fragile], port: Number(port), logger: () => {} });
console.log("listening");
