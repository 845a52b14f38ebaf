/** Records which `perdure dev` uses a data folder: written while it runs, read when a second one finds the data locked. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { causeCode } from "@perdure/base";
import { z } from "zod";
import { CliError, FAILED } from "../../errors.js";

const holderShape = z.object({ pid: z.int().positive(), ingressUrl: z.string(), adminUrl: z.string() });

const fileIn = (data: string): string => join(data, "dev.json");

export function writeHolder(
  data: string,
  { ingressUrl, adminUrl }: { readonly ingressUrl: string; readonly adminUrl: string },
): void {
  writeFileSync(fileIn(data), `${JSON.stringify({ pid: process.pid, ingressUrl, adminUrl })}\n`);
}

export function removeHolder(data: string): void {
  rmSync(fileIn(data), { force: true });
}

/** The error of a server whose `data` is locked. */
export function lockedError(data: string): CliError {
  const holder = readHolder(data);
  const other = `Or give this one a folder of its own: perdure dev --data <folder>`;
  if (holder === undefined) return new CliError(FAILED, `Another process uses the data in ${data}`, `Stop it. ${other}`);
  return new CliError(
    FAILED,
    `Another perdure dev uses the data in ${data}: process ${holder.pid}, calls at ${holder.ingressUrl}, management at ${holder.adminUrl}`,
    `Use that one, or stop it (kill ${holder.pid}). ${other}`,
  );
}

/** Undefined when there is no record, or its process has ended without removing it. */
function readHolder(data: string): z.infer<typeof holderShape> | undefined {
  try {
    const parsed = holderShape.safeParse(JSON.parse(readFileSync(fileIn(data), "utf8")));
    if (!parsed.success) return undefined;
    process.kill(parsed.data.pid, 0);
    return parsed.data;
  } catch (cause) {
    if (cause instanceof SyntaxError || ["ENOENT", "ESRCH"].includes(causeCode(cause) ?? "")) return undefined;
    throw cause;
  }
}
