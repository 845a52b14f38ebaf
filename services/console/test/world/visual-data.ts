/** Data whose lists have the same rows in the same order in every run: one request after the other. */
import { eventually, type TestWorld } from "@perdure/conformance";

const AN_HOUR_MS = 3_600_000;

export interface VisualData {
  /** Completed, with steps, calls and a sleep. */
  readonly placed: string;
}

export async function fillVisualData({ ingress, admin }: TestWorld): Promise<VisualData> {
  const send = async (...sending: Parameters<typeof ingress.send>): Promise<string> =>
    (await ingress.send(...sending)).invocationId;
  for (const item of ["chair", "table", "sofa"]) await ingress.result(["Orders", "place"], { item, amount: 2 });
  const placed = await send(["Orders", "place"], { item: "bed", amount: 1 });
  await ingress.attach(placed);
  await ingress.attach(await send(["Orders", "place"], { item: "boat", amount: 5000 }));
  const waiting = [
    await send(["Orders", "approve"], "a discount of 10 %"),
    await send(["Orders", "rest"], AN_HOUR_MS),
    await send(["Signup", "ada", "run"], "ada@example.com"),
    await send(["Stock", "lamp", "count"], AN_HOUR_MS),
  ];
  for (let i = 0; i < 2; i++) await send(["Stock", "lamp", "take"], 1);
  await send(["Orders", "rest"], 5, { delay: "1h" });
  for (const id of waiting) {
    await eventually(`${id} waits`, async () => (await admin.row(id))?.["status"] === "suspended", 30_000);
  }
  return { placed };
}
