/** Services authenticate an environment by its key: a new one is published before it signs, and no private one is ever exposed. */
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Logger } from "@perdure/base";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { eventsOf, eventually } from "./eventually.js";
import { shiftedClock } from "./shifted-clock.js";
import { World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const DAY_MS = 86_400_000;

let world: World;
const clock = shiftedClock();
const logged: string[] = [];

beforeAll(async () => {
  world = await World.start();
  world.startOperator({}, undefined, { clock, logger: noting() });
}, FIRST_MS);
afterAll(() => world[Symbol.asyncDispose](), TEST_MS);

/** Records all messages with all fields. */
function noting(): Logger {
  const note = (fields: object, message: string): void => void logged.push(`${message} ${inspect(fields, { depth: 8 })}`);
  const logger = { trace: note, debug: note, info: note, warn: note, error: note, child: () => logger } as unknown as Logger;
  return logger;
}

async function annotate(name: string, annotations: Readonly<Record<string, string>>): Promise<void> {
  const body = { metadata: { annotations } };
  await world.kubernetes.request({ method: "PATCH", path: `/apis/perdure.dev/v1alpha1/environments/${name}`, body });
}

async function secretOf(name: string): Promise<Readonly<Record<string, string>>> {
  const { data = {} } = (await world.client.get(resources.secrets, "signing-key", name)) as KubeObject & {
    readonly data?: Readonly<Record<string, string>>;
  };
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}

test(
  "a new key is published for a day before it signs, the old one after it, and no private key is exposed anywhere",
  async () => {
    const made = await world.create();
    const { name } = made.metadata;
    const { status } = await world.untilReady(made);
    const [first] = status?.signingKey?.publicKeys ?? [];
    const firstPem = (await secretOf(name))["current.pem"] as string;
    const hash = async (): Promise<string> => {
      const set = await world.client.get(resources.statefulSets, "worker", name);
      return /"perdure.dev\/secrets-hash":"(\w+)"/.exec(JSON.stringify(set["spec"]))?.[1] ?? "";
    };
    const firstHash = await hash();

    await annotate(name, { "perdure.dev/rotate-signing-key": "2026-01" });
    const shown = await world.until(name, (one) => one?.status?.signingKey?.publicKeys?.length === 2);
    const [current, next] = shown.status?.signingKey?.publicKeys ?? [];
    expect(current).toBe(first);
    const published = await secretOf(name);
    expect(published["current.pem"]).toBe(firstPem);
    expect(await hash()).toBe(firstHash); // Publishing a key replaces no pod.

    clock.forward(DAY_MS);
    await annotate(name, { "test/touched": "1" });
    const flipped = await world.until(name, (one) => one?.status?.signingKey?.publicKeys?.[0] === next);
    expect(flipped.status?.signingKey?.publicKeys).toEqual([next, first]);
    const after = await secretOf(name);
    expect([after["current.pem"], after["previous.pem"], after["next.pem"]]).toEqual([
      published["next.pem"],
      firstPem,
      undefined,
    ]);
    await eventually(async () => (await hash()) !== firstHash); // Now the pods that sign have the new key.
    await world.untilReady(made);
    const mounted = JSON.stringify(await world.client.get(resources.statefulSets, "worker", name));
    expect(mounted).toContain('"secretName":"signing-key","items":[{"key":"current.pem","path":"current.pem"}]');

    await eventually(async () => (await eventsOf(world, made, "SigningKeys")).length === 2);
    const privateLines = Object.values({ ...published, ...after })
      .filter((text) => text.includes("PRIVATE KEY"))
      .flatMap((pem) => pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----")));
    expect(new Set(privateLines).size).toBe(2);
    const events = JSON.stringify((await world.client.list(resources.events)).items);
    const object = JSON.stringify(await world.client.get(resources.environments, name));
    expect([logged.length > 0, events.includes("SigningKeys"), object.includes("publickeyv1_")]).toEqual([true, true, true]);
    for (const line of privateLines) {
      for (const place of [logged.join("\n"), events, object]) {
        expect(place).not.toContain(line);
        expect(place).not.toContain(Buffer.from(line).toString("base64").slice(0, 24));
      }
    }
  },
  TEST_MS,
);
