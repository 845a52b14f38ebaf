/** Why: mail with a link that works once: the address of a page of ours, whose secret is known only to the mail and, hashed, to the database. */
import { randomBase62, type UserId } from "@perdure/cloud";
import type { MailTokenKind, TenancyTables } from "@perdure/driver-postgres";
import { RESET_LINK_MS, VERIFY_LINK_MS } from "../../limits.js";
import { putMail } from "../../mail/outbox.js";
import { resetText, verifyText } from "../../mail/texts.js";
import type { TenancyPorts } from "../../ports.js";
import { hashOf } from "../sessions.js";

const PATHS: Readonly<Record<MailTokenKind, string>> = { verify: "/verify", reset: "/password/reset" };
const LIFETIMES_MS: Readonly<Record<MailTokenKind, number>> = { verify: VERIFY_LINK_MS, reset: RESET_LINK_MS };

/** 256 bits. */
const TOKEN_CHARS = 43;
const TOKEN = /^[0-9A-Za-z]{43}$/;

/** Links of the kind that were sent before work no more. */
export async function mailLink(
  ports: TenancyPorts,
  tables: TenancyTables,
  kind: MailTokenKind,
  to: { readonly userId: UserId; readonly email: string },
): Promise<void> {
  const nowMs = ports.clock.nowMs();
  const token = randomBase62(TOKEN_CHARS, ports.random);
  await tables.mails.addToken(hashOf(token), kind, to, nowMs, nowMs + LIFETIMES_MS[kind]);
  const link = `${ports.addresses.consoleUrl}${PATHS[kind]}?token=${token}`;
  await putMail(ports, tables, { to: to.email, ...(kind === "verify" ? verifyText(link) : resetText(link)) });
}

/** The hash of what may be one; a hash that nobody has of what cannot. */
export function tokenHashOf(text: string | undefined): Uint8Array {
  return text !== undefined && TOKEN.test(text) ? hashOf(text) : new Uint8Array(32);
}
