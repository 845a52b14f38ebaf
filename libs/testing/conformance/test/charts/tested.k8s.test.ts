/** What `helm test` runs: its Job reaches each program, and fails when one of them is not ready. */
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runHelm } from "@perdure/servers";
import {
  type Container,
  containersIn,
  hookOf,
  NAMESPACE,
  nameOf,
  type Rendered,
  render,
  selects,
  templateOf,
} from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let hooks: Rendered[];
let objects: Rendered[];
let server: Server;
/** Statuses that paths answer with, the last one for ever. */
const answers = new Map<string, number[]>();

beforeAll(async () => {
  await runHelm("version");
  objects = await render({ values: "everything" });
  hooks = objects.filter((object) => hookOf(object) === "test");
  server = createServer(({ url = "" }, response) => {
    const statuses = answers.get(url) ?? [404];
    response.writeHead(statuses.length > 1 ? (statuses.shift() as number) : (statuses[0] as number)).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
}, FIRST_MS);
afterAll(() => void server?.close());

const urlOf = (path: string): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;

/** The command of the Job with other addresses; a pause of its takes no time. */
function run(paths: readonly string[]): Promise<{ readonly isGood: boolean; readonly output: string }> {
  const container = containersIn(hooks)[0] as Container;
  const [program, ...args] = container["command"] as [string, ...string[]];
  expect(program).toBe("node");
  const hurry = "const timer = setTimeout; globalThis.setTimeout = (work, ms) => timer(work, ms === 2_000 ? 1 : ms);";
  const script = `${hurry}\n${args.pop()}`;
  const env = { PATH: process.env["PATH"], READY_URLS: paths.map(urlOf).join(" ") };
  return new Promise((resolve) => {
    execFile(process.execPath, [...args, script], { env }, (error, stdout, stderr) =>
      resolve({ isGood: error === null, output: stdout + stderr }),
    );
  });
}

test("it comes with what it needs, requests the probes of each program, and is let in there and nowhere else", () => {
  expect(hooks.map(nameOf).sort()).toEqual(["Job/perdure-test", "NetworkPolicy/perdure-test", "ServiceAccount/perdure-test"]);
  const [container] = containersIn(hooks);
  const urls = container?.env.find(({ name }) => name === "READY_URLS")?.value?.split(" ") ?? [];
  const programs = ["gateway", "tenancy", "operator", "tunnel-relay"];
  expect(urls).toEqual(programs.map((name) => `http://perdure-${name}.${NAMESPACE}.svc.cluster.example:9091/readyz`));
  const job = hooks.find(({ kind }) => kind === "Job") as Rendered;
  for (const program of programs) {
    const policy = objects.find((one) => nameOf(one) === `NetworkPolicy/perdure-${program}`);
    const rules = policy?.spec["ingress"] as readonly {
      from?: readonly { podSelector?: { matchLabels: object } }[];
      ports: object[];
    }[];
    const letting = rules.filter(({ from = [] }) =>
      from.some(({ podSelector }) =>
        selects((podSelector?.matchLabels ?? { none: "" }) as never, templateOf(job).metadata.labels),
      ),
    );
    expect([program, letting.map(({ ports }) => ports)]).toEqual([program, [[{ protocol: "TCP", port: 9091 }]]]);
  }
});

test("without relays it requests none", async () => {
  const [container] = containersIn(
    (await render({ sets: ["tunnelRelay.enabled=false"] })).filter((one) => hookOf(one) === "test"),
  );
  expect(JSON.stringify(container?.env)).not.toContain("tunnel-relay");
});

test(
  "it is good when each program is ready, also one that needs a moment",
  async () => {
    answers.set("/a", [200]).set("/b", [503, 503, 200]);
    const { isGood, output } = await run(["/a", "/b"]);
    expect([isGood, output.match(/ ready$/gm)?.length]).toEqual([true, 2]);
  },
  TEST_MS,
);

test(
  "it fails when one of them does not become ready, and says which and how it answers",
  async () => {
    answers.set("/a", [200]).set("/b", [503]);
    const { isGood, output } = await run(["/a", "/b"]);
    expect(isGood).toBe(false);
    expect(output).toContain(`${urlOf("/a")} ready`);
    expect(output).toContain(`${urlOf("/b")} answers 503`);
  },
  TEST_MS,
);
