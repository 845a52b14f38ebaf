/** Mail with a link that works once. The secret of the link is stored only as a hash. */
import { randomBase62, type UserId } from "@perdure/cloud";
import type { IdentityPorts } from "@perdure/identity";
import { hashOf } from "@perdure/identity";
import { putMail, resetText, verifyText } from "@perdure/mail";
import type { MailTokenKind, TenancyTables } from "@perdure/postgres";
import { RESET_LINK_MS, VERIFY_LINK_MS } from "../limits.js";

const PATHS: Readonly<Record<MailTokenKind, string>> = { verify: "/verify", reset: "/password/reset" };
const LIFETIMES_MS: Readonly<Record<MailTokenKind, number>> = { verify: VERIFY_LINK_MS, reset: RESET_LINK_MS };

/** 256 bits. */
const TOKEN_CHARS = 43;
const TOKEN = /^[0-9A-Za-z]{43}$/;

/** Earlier links of the kind stop working. */
export async function mailLink(
  ports: IdentityPorts,
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

/** The hash of a token; of a malformed one a hash that matches no token. */
export function tokenHashOf(text: string | undefined): Uint8Array {
  return text !== undefined && TOKEN.test(text) ? hashOf(text) : new Uint8Array(32);
}
