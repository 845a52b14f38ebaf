/** Why: attempts against an account are counted by its address, and nobody shall read addresses in the table of attempts. */
import { emailShape } from "@perdure/cloud-client";
import { hashOf } from "./sessions.js";

/** Addresses that differ in case or spaces around are one. */
export function emailOf(text: string | undefined): string | undefined {
  return emailShape.safeParse((text ?? "").trim().normalize("NFC").toLowerCase()).data;
}

/** What attempts against an account are counted as. */
export function subjectOf(email: string | undefined): string {
  return Buffer.from(hashOf(email ?? "")).toString("base64url");
}
