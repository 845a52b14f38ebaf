/** Walks a schema built from `group` and settings, so that reading, printing and suggesting use the same names. */
import { z } from "zod";
import { kebabName } from "./names.js";
import { type SettingFacts, settingFacts } from "./setting.js";

/** A schema made by `group`. */
export type GroupSchema = z.ZodPrefault<z.ZodObject>;

export type SettingNode =
  | {
      readonly kind: "group";
      readonly path: readonly string[];
      readonly facts: SettingFacts;
      readonly members: ReadonlyMap<string, SettingNode>;
    }
  | { readonly kind: "setting"; readonly path: readonly string[]; readonly facts: SettingFacts; readonly schema: z.ZodType };

/** Members in the order they were declared. Throws when a schema was not made by the builders: that is a mistake in a `config.ts`. */
export function settingTree(schema: z.ZodType, path: readonly string[] = []): SettingNode {
  const facts = settingFacts.get(schema);
  if (facts === undefined)
    throw new TypeError(`setting '${path.map(kebabName).join(".")}' has no sentence: use the builders of setting.ts`);
  if (!isGroup(schema)) return { kind: "setting", path, facts, schema };
  const members = new Map<string, SettingNode>();
  for (const [name, member] of Object.entries(schema.unwrap().shape)) {
    members.set(name, settingTree(member as z.ZodType, [...path, name]));
  }
  return { kind: "group", path, facts, members };
}

function isGroup(schema: z.ZodType): schema is GroupSchema {
  return schema instanceof z.ZodPrefault && schema.unwrap() instanceof z.ZodObject;
}

/** Every setting below a node, depth first. */
export function* settingsOf(node: SettingNode): Generator<Extract<SettingNode, { kind: "setting" }>> {
  if (node.kind === "setting") {
    yield node;
    return;
  }
  for (const member of node.members.values()) yield* settingsOf(member);
}
