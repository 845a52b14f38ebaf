/** Checks a name while the user types it. Pure. */
import { isEnvironmentName } from "@perdure/cloud";

/** The error of the name; undefined when it is valid, or nothing was typed yet. */
export function nameProblem(name: string, existingNames: readonly string[]): string | undefined {
  if (name === "") return undefined;
  if (name.length > 40) return "At most 40 characters.";
  if (/[A-Z]/.test(name)) return "Lower-case letters only.";
  const [wrong] = /[^a-z0-9-]/.exec(name) ?? [];
  if (wrong !== undefined) return `${wrong === " " ? "No spaces" : `No “${wrong}”`}: a–z, 0–9 and “-” only.`;
  if (!isEnvironmentName(name)) return `“${name}” is reserved by the command line.`;
  if (existingNames.includes(name)) return "An environment with this name exists.";
  return undefined;
}
