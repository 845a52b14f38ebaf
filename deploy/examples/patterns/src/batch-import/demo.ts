/** The endpoint is killed when the third of five chunks is inserted and the result is not stored yet. */
import { z } from "zod";
import type { Pattern } from "#kit/pattern";
import { batchImport as importWorkflow } from "#patterns/batch-import/services";

const ROWS = Array.from({ length: 50 }, (_, number) => (number === 7 || number === 33 ? "" : `customer ${number}`));
const Chunk = z.object({ from: z.number(), chunk: z.array(z.string()) });

export const batchImport: Pattern = {
  name: "batch-import",
  summary: "import many rows in chunks, and continue where a crash interrupted",
  services: [importWorkflow],
  demo: async (stage) => {
    const { outside } = stage;
    outside.on("table/insert", (body) => {
      const { from, chunk } = Chunk.parse(body);
      return { body: { invalid: chunk.flatMap((row, index) => (row === "" ? [from + index] : [])) } };
    });
    const workflow = stage.ingress.workflowClient(importWorkflow, "import-1");
    const first = outside.hold("table/insert");
    await workflow.workflowSubmit(ROWS);
    await first.performed;
    const third = outside.hold("table/insert"); // The second and third chunk follow.
    first.release();
    await third.performed;
    stage.say(`in the middle: ${JSON.stringify(await workflow.progress())}`);
    await stage.crash("endpoint");
    third.release();

    const outcome = await workflow.workflowAttach();
    stage.check("all rows are done", outcome.doneRows === ROWS.length);
    stage.check("the two invalid rows are named", outcome.invalidRows.join() === "7,33");
    stage.check("every chunk was inserted once", outside.performed("table/insert").length === ROWS.length / 10);
    stage.check("only the interrupted chunk was sent again", outside.requestCount("table/insert") === ROWS.length / 10 + 1);
  },
};
