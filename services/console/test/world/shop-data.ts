/** Data for lists and charts: a day of the shop, in a second. */
import type { TestWorld } from "@perdure/conformance";

const AN_HOUR_MS = 3_600_000;

/** Ids of invocations, for tests that need a certain one. */
export interface ShopData {
  /** Completed well; its idempotency key is `sofa-for-ada`. */
  readonly placed: string;
  /** Completed with a failure that stays: code 402. */
  readonly refused: string;
  /** Fails again and again. */
  readonly broken: string;
  /** Sleeps for an hour. */
  readonly resting: string;
  /** Will begin in an hour. */
  readonly delayed: string;
  /** Waits for an awakeable. */
  readonly approval: string;
  /** A workflow with key `ada`, which waits for its promise `confirmed`. */
  readonly signup: string;
  /** Holds `Stock/lamp` for an hour; three others wait behind it. */
  readonly holder: string;
}

export async function fillShop({ ingress }: TestWorld): Promise<ShopData> {
  const send = async (...sending: Parameters<typeof ingress.send>): Promise<string> =>
    (await ingress.send(...sending)).invocationId;
  const place = ["Orders", "place"] as const;
  const items = ["chair", "table", "lamp"] as const;
  await Promise.all(Array.from({ length: 12 }, (_, i) => ingress.result(place, { item: items[i % 3], amount: 1 + (i % 4) })));
  const [placed, refused, broken, resting, delayed, approval, signup] = await Promise.all([
    send(place, { item: "sofa", amount: 2 }, { idempotencyKey: "sofa-for-ada" }),
    send(place, { item: "boat", amount: 5000 }),
    send(["Payments", "broken"], null),
    send(["Orders", "rest"], AN_HOUR_MS),
    send(["Orders", "rest"], 5, { delay: "1h" }),
    send(["Orders", "approve"], "a discount of 10 %"),
    send(["Signup", "ada", "run"], "ada@example.com"),
    send(["Signup", "grace", "run"], "grace@example.com"),
    send(["Payments", "flaky"], null),
  ]);
  await Promise.all([ingress.attach(placed), ingress.attach(refused)]);
  const holder = await send(["Stock", "lamp", "count"], AN_HOUR_MS);
  for (let i = 0; i < 3; i++) await send(["Stock", "lamp", "take"], 1);
  return { placed, refused, broken, resting, delayed, approval, signup, holder };
}
