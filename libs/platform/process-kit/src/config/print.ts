/**
 * `--print-config`: every setting as a TOML file that can be saved, edited and used, with its meaning, its value and the source of the
 * value.
 */
import { jsonFields } from "@perdure/base";
import type { LoadedConfig } from "./load.js";
import { dottedName, kebabName } from "./names.js";
import { type GroupSchema, type SettingNode, settingTree } from "./tree.js";

/** Ends in a newline. Secrets are "***". */
export function printConfig<S extends GroupSchema>(schema: S, loaded: LoadedConfig<S>): string {
  const blocks: string[] = [];
  printGroup(settingTree(schema), loaded.values, loaded.origins, blocks);
  const ignored = loaded.ignoredVariables.map((name) => `# ${name} has no setting here and is ignored`);
  if (ignored.length > 0) blocks.push(ignored.join("\n"));
  return `${blocks.join("\n\n")}\n`;
}

type SettingOrigins = LoadedConfig<GroupSchema>["origins"];
type GroupNode = Extract<SettingNode, { kind: "group" }>;

function printGroup(node: SettingNode, value: unknown, origins: SettingOrigins, blocks: string[]): void {
  if (node.kind !== "group") return;
  const values = jsonFields(value) ?? {};
  if (node.path.length > 0) blocks.push(`# ${node.facts.sentence}\n[${node.path.map(kebabName).join(".")}]`);
  else blocks.push(`# ${node.facts.sentence}`);
  // In TOML a table's own values come before the tables inside it.
  for (const [name, member] of settingsFirst(node)) {
    if (member.kind === "group") printGroup(member, values[name], origins, blocks);
    else blocks.push(printSetting(member, name, values[name], origins.get(dottedName(member.path))));
  }
}

function settingsFirst(node: GroupNode): (readonly [string, SettingNode])[] {
  const all = [...node.members];
  return [...all.filter(([, member]) => member.kind === "setting"), ...all.filter(([, member]) => member.kind === "group")];
}

function printSetting(node: SettingNode, name: string, value: unknown, origin: string | undefined): string {
  const shown = node.facts.show(value);
  const source = origin === undefined ? "default" : `set by ${origin}`;
  const line = shown === undefined ? `# ${kebabName(name)} is not set` : `${kebabName(name)} = ${shown} # ${source}`;
  return `# ${node.facts.sentence}\n${line}`;
}
