/** Stands for the outside world: each effect is a line in a file, so that you can count how often it happened. */
import { appendFileSync } from "node:fs";

export function effect(line: string): void {
  appendFileSync(process.env["EFFECTS_FILE"] ?? "effects.log", `${line}\n`);
}
