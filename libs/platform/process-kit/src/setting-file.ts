/** Reads a file named by a setting (a key or a certificate); the error for an unreadable file contains the name of the setting. */
import { readFileSync } from "node:fs";
import { causeCode, causeMessage, PerdureError } from "@perdure/base";

/** The text of the file that `setting` names. Throws OPS0001 when it cannot be read. */
export function readSettingFile(setting: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const reason = causeCode(cause) === "ENOENT" ? "there is no such file" : causeMessage(cause);
    throw new PerdureError("OPS0001", `'${setting}' ${path} cannot be read: ${reason}`, { cause });
  }
}
