/** A pending mail as bytes, which the outbox seals and stores. */
import { fromUtf8, jsonFields, PerdureError, parseJson, utf8 } from "@perdure/base";
import type { Mail } from "./mailer.js";

export const storedBytesOf = (mail: Mail): Uint8Array => utf8(JSON.stringify(mail));

/** Throws STO0003, without the text, when it is not a mail: it may hold a link to sign in. */
export function mailOf(bytes: Uint8Array): Mail {
  const { to, subject, text } = jsonFields(parseJson(fromUtf8(bytes))) ?? {};
  if (typeof to !== "string" || typeof subject !== "string" || typeof text !== "string")
    throw new PerdureError("STO0003", "a stored mail cannot be read");
  return { to, subject, text };
}
