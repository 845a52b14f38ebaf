import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { causeCode } from "@perdure/base";
import { templateOf } from "./template.js";

/** Writes the template of a new service into `folder`. Never overwrites a file. Returns the written paths. */
export function writeTemplate(folder: string, ingressPort: number): readonly string[] {
  const written: string[] = [];
  for (const [path, text] of templateOf(folder, ingressPort)) {
    if (path.includes("/")) mkdirSync(join(folder, path, ".."), { recursive: true });
    try {
      writeFileSync(join(folder, path), text, { flag: "wx" });
      written.push(path);
    } catch (cause) {
      if (causeCode(cause) !== "EEXIST") throw cause;
    }
  }
  return written;
}
