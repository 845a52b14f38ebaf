/**
 * The official CLI prints the same on the same scenario as it did with the reference server; intended differences are listed with their
 * reasons.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  Cli,
  type CliScenario,
  playScenario,
  prepareWrites,
  type RecordedCommand,
  recordedCommands,
  replayCommand,
} from "../../src/cli/index.js";
import { TestWorld } from "../../src/index.js";

let world: TestWorld;
let cli: Cli;
let scenario: CliScenario;
beforeAll(async () => {
  world = await TestWorld.start();
  cli = world.own(new Cli(world.server));
  scenario = await playScenario(world);
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

/** The output of this server where it differs, and the exit code where it does. */
interface Difference {
  readonly says: RegExp;
  readonly exitCode?: number;
}

const MALFORMED: Difference = { says: /: bad length$/m };
const ARBITRARY_ORDER: Difference = { says: /./ };

/** By file, then by the beginning of the command. */
const DIFFERENCES: Readonly<Record<string, Readonly<Record<string, Difference>>>> = {
  deployments: {
    // Errors that are plain text over there, which the tool cannot read, are JSON here.
    "deployments describe dp_1nope": MALFORMED,
  },
  invocations: {
    // An invalid id is treated as an unknown one.
    "invocations describe inv_bad": { says: /^Error: Invocation inv_bad not found!$/m },
  },
  sql: {
    // The engine is another one, and mistakes of the caller are 400.
    "sql select completion_retention, created_at": {
      says: /Ambiguous reference to column name "created_at"[\s\S]*400 Bad Request/,
    },
    "sql select partition_key": ARBITRARY_ORDER,
    "sql selec 1": { says: /only statements that read are supported[\s\S]*400 Bad Request/ },
    "sql select * from nope": { says: /table 'nope' not found[\s\S]*400 Bad Request/ },
    "sql select 1; select 2": { says: /only a single SQL statement is supported[\s\S]*400 Bad Request/ },
  },
  "sql-types": {
    "sql select interval": { says: /PT93600S/ },
    "sql select services": { says: /(?=.*Configured)(?=.*Counter)(?=.*Wf)(?=.*Greeter)(?=.*Internal)/ },
    // A setting made by one statement would apply to later statements of all clients.
    "sql set ": { says: /only statements that read are supported, not SET/, exitCode: 1 },
    "sql show tables": { says: /^restate public sys_invocation VIEW$/m },
  },
  rules: {
    // Versions count all changes to the rules there ever were.
    "rules list --extra": { says: /^cli\/\* unlimited no from the cli \d+ <time>\nparked unlimited yes \d+ <time>$/m },
  },
  "invocations-write": {
    // Why it cannot be: not because of its journal, but because it is a workflow.
    "invocations restart-as-new {inv.wfDone}": {
      says: /422 Unprocessable Entity[\s\S]*Failed to restart 1 invocations out of 1/,
    },
    // Two match, and one is to go.
    "invocations purge Counter/c1/add -y --limit 1": { says: /^\[OK\]: Purged 1 invocations$/m },
  },
  kafka: {
    // The interface specification gives META0009 to every broken rule of a subscription.
    "subscriptions create -y kafka://nope/orders": { says: /META0009.*Kafka cluster 'nope' not found/ },
    "subscriptions describe sub_1nope": MALFORMED,
  },
  "deployments-write": {
    // The code appears once in a message; texts of transports differ.
    "deployments register http://{port.otherType}": {
      says: /META0006 \[META0006\] detected a new service revision for 'Counter' changing the service type[\s\S]*--breaking/,
    },
    "deployments register http://{port.nobody}": {
      says: /META0003 \[META0003\] error when calling 'http:\/\/\{port\.nobody\}\/'/,
    },
    "deployments register http://{port.http1}": { says: /META0014 \[META0014\] .*server possibly supports only HTTP1\.1/ },
    "deployments register http://{port.faults}/s500": {
      says: /META0003 \[META0003\] got status code '500 Internal Server Error'/,
    },
    "deployments register http://{port.faults}/badjson": { says: /<UNKNOWN> received a bad response from the SDK .*\{oops/ },
    "deployments register http://{port.faults}/proto": {
      says: /META0012 \[META0012\] unsupported service protocol versions: \[90, 99\]/,
    },
    "deployments register http://{port.movable}": { says: /META0003 \[META0003\] .*not an HTTP\/1\.1 response/ },
    "deployments remove dp_1nope": MALFORMED,
    // How many there are depends on what the commands before left behind.
    "deployments remove {dp.v1} -y": { says: /^Invocations: [1-9]\d*$[\s\S]*use --force[\s\S]*Deployment is still Active/m },
  },
};

function differenceOf(file: string, { args }: RecordedCommand): Difference | undefined {
  const command = args.join(" ");
  return Object.entries(DIFFERENCES[file] ?? {}).find(([beginning]) => command.startsWith(beginning))?.[1];
}

/** The first files only read; the others depend on those before them. */
const FILES = [
  "services",
  "deployments",
  "invocations",
  "state",
  "sql",
  "sql-types",
  "rules",
  "services-write",
  "state-write",
  "invocations-write",
  "kafka",
  "deployments-write",
] as const;

describe.each(FILES)("%s", (file) => {
  if (file === "state-write") beforeAll(() => prepareWrites(world, scenario));
  const commands = recordedCommands(file).map((command, index) => [titleOf(command, index), command] as const);
  test.each(commands)("%s", async (_title, command) => {
    const { ours, recorded } = await replayCommand(cli, scenario, command);
    const difference = differenceOf(file, command);
    if (difference === undefined) return expect(ours).toEqual(recorded);
    expect([...ours.stdout, ...ours.stderr].join("\n")).toMatch(difference.says);
    expect(ours.exitCode).toBe(difference.exitCode ?? recorded.exitCode);
  });
});

test("every listed difference belongs to a recorded command", () => {
  for (const file of FILES) {
    const commands = recordedCommands(file).map(({ args }) => args.join(" "));
    const unused = Object.keys(DIFFERENCES[file] ?? {}).filter((name) => !commands.some((command) => command.startsWith(name)));
    expect(unused).toEqual([]);
  }
});

function titleOf({ args, env }: RecordedCommand, index: number): string {
  return `${index}: ${args.join(" ")}${env === undefined ? "" : " in CI"}`;
}
