/** The page of settings: one table for each program and group, from the definitions that read the settings. */
import { settings as admin } from "@perdure/admin-api/settings";
import { settings as cloudGateway } from "@perdure/cloud-gateway/settings";
import { settings as gateway } from "@perdure/ingress-gateway/settings";
import { settings as worker } from "@perdure/invoker-worker/settings";
import { settings as operator } from "@perdure/operator/settings";
import { dottedName, type GroupSchema, type SettingNode, settingTree, variableOf } from "@perdure/process-kit";
import { settings as registry } from "@perdure/registry/settings";
import { settings as standalone } from "@perdure/standalone/settings";
import { settings as tenancy } from "@perdure/tenancy/settings";
import { settings as tunnelClient } from "@perdure/tunnel-client/settings";
import { settings as tunnelRelay } from "@perdure/tunnel-relay/settings";
import { code, type Page, page, prose, table } from "./markdown.js";

/** Programs in the order of the page. */
const PROGRAMS: readonly (readonly [string, string, GroupSchema])[] = [
  ["perdure server", "All roles of a runtime in one process.", standalone],
  ["perdure-gateway", "The ingress of a cluster.", gateway],
  ["perdure-admin", "The management API of a cluster.", admin],
  ["perdure-registry", "Deployments, services, subscriptions, rules and schedules of a cluster.", registry],
  ["perdure-worker", "Partitions of a cluster, and attempts.", worker],
  ["perdure-tenancy", "Accounts, environments, keys and usage of a cloud.", tenancy],
  ["perdure-cloud-gateway", "The public address of all environments of a cloud.", cloudGateway],
  ["perdure-tunnel-relay", "The relay to which tunnel clients connect.", tunnelRelay],
  ["perdure-tunnel-client", "The client that connects private endpoints to a relay.", tunnelClient],
  ["perdure-operator", "Environments, services and tunnels as objects of a Kubernetes cluster.", operator],
];

const HOW = `Every setting can be a line in a TOML file (\`--config-file FILE\` or \`PERDURE_CONFIG\`), an environment variable, or a flag with the name of the setting
(\`--ingress.bind-port 8081\`). Flags win over the environment, the environment over the file. \`perdure server --print-config\` prints every setting with its value and the source of the value.

The command \`perdure worker\` starts the program \`perdure-worker\`, and so on; the image of that name starts it by itself. The same commands take \`--print-config\`.

A name in a table is relative to the heading of the table: \`bind-port\` in the table \`ingress\` is \`ingress.bind-port\`. Variables are written in full.
A *duration* is a text with a unit (\`500ms\`, \`1m 30s\`), a *size* a number of bytes or a text (\`32MiB\`). A dash means that the
setting has no value unless you set one.`;

export function settingsPage(): Page {
  const programs = PROGRAMS.flatMap(([name, sentence, schema]) => programBlocks(name, sentence, schema));
  return page("settings.md", "Settings", [HOW, ...programs]);
}

function programBlocks(name: string, sentence: string, schema: GroupSchema): string[] {
  const tree = settingTree(schema);
  const blocks = [`## ${code(name)}`, sentence];
  groupBlocks(tree, schema.parse(undefined), blocks);
  return blocks;
}

function groupBlocks(node: SettingNode, value: unknown, blocks: string[]): void {
  if (node.kind !== "group") return;
  const values = new Map(Object.entries(value ?? {}));
  if (node.path.length > 0) blocks.push(`### ${code(dottedName(node.path))}`, prose(node.facts.sentence));
  const members = [...node.members];
  const rows = members.flatMap(([name, member]) => (member.kind === "setting" ? [rowOf(member, values.get(name))] : []));
  if (rows.length > 0) blocks.push(table(["Setting", "Variable", "Default", "Accepts", "Meaning"], rows));
  for (const [name, member] of members) groupBlocks(member, values.get(name), blocks);
}

function rowOf(node: Extract<SettingNode, { kind: "setting" }>, value: unknown): string[] {
  const { show, accepts, sentence } = node.facts;
  const name = dottedName(node.path);
  const shown = show(value);
  return [
    code(dottedName(node.path.slice(-1))),
    code(variableOf(name)),
    shown === undefined ? "–" : code(shown),
    prose(accepts),
    prose(sentence),
  ];
}
