/** Two clients wait for the same export; the server is killed between two polls. */
import { rpc } from "@restatedev/restate-sdk-clients";
import type { Pattern } from "#kit/pattern";
import { tableExport } from "#patterns/polling/services";

export const polling: Pattern = {
  name: "polling",
  summary: "start a long job elsewhere and poll until it is finished",
  services: [tableExport],
  demo: async (stage) => {
    const { outside } = stage;
    outside.on("exports/start", () => ({ body: { job: "job-1" } }));
    outside.on("exports/poll", (_, count) => ({
      body: count < 4 ? { isFinished: false } : { isFinished: true, file: "orders.csv" },
    }));
    const wait = (): PromiseLike<string> =>
      stage.ingress
        .serviceClient(tableExport)
        .run({ table: "orders", pollEveryMs: 50 }, rpc.opts({ idempotencyKey: "export-of-orders" }));
    const files = Promise.all([wait(), wait()]);
    await stage.until("the job is polled", () => outside.performed("exports/poll").length >= 2);
    stage.say("the job was polled twice and is not finished");
    await stage.crash("server");
    const [first, second] = await files;
    stage.check("both clients get the file", first === "orders.csv" && second === "orders.csv");
    stage.check("the job was started once", outside.performed("exports/start").length === 1);
    stage.check("it was polled four times", outside.performed("exports/poll").length === 4);
  },
};
