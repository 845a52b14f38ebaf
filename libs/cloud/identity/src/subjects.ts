/** Subjects of attempts against an account: a hash of its address, so that the table of attempts contains no addresses. */
import { emailShape } from "@perdure/cloud-client";
import { hashOf } from "./sessions.js";

/** Addresses that differ only in case or surrounding spaces are the same. */
export function emailOf(text: string | undefined): string | undefined {
  return emailShape.safeParse((text ?? "").trim().normalize("NFC").toLowerCase()).data;
}

/** The subject under which attempts against an account are counted. */
export function subjectOf(email: string | undefined): string {
  return Buffer.from(hashOf(email ?? "")).toString("base64url");
}
