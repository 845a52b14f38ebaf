/** Confirms the user's presence before dangerous actions: by the password, or by the other provider on its own pages. */
import type { Secret } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import { auditLogin, type Requester, subjectOf } from "@perdure/identity";
import type { SessionRecord } from "@perdure/postgres";
import { CONFIRMED_MS } from "./limits.js";
import type { PagesPorts } from "./pages/page-sessions.js";

/** Until when the user's presence counts as confirmed; 0 without a confirmation. */
export function confirmedUntilMs({ confirmedAtMs }: SessionRecord): number {
  return confirmedAtMs === undefined ? 0 : confirmedAtMs + CONFIRMED_MS;
}

type Confirmation = "confirmed" | "wrong" | "noPassword";

/** Counts for the session, and as a sign-in from this network: a stolen session must not be used to guess a password. Throws PERD0429. */
export async function confirmByPassword(
  ports: PagesPorts,
  session: SessionRecord,
  password: Secret,
  who: Requester,
): Promise<Confirmation> {
  const { rates, database, passwords } = ports;
  await rates.take("sign-in by address", networkOf(who.remoteAddress));
  await rates.take("confirmation of session", session.id);
  const user = await database.tables.users.get(session.userId);
  const atAccount = `${subjectOf(user?.email.toLowerCase())} ${networkOf(who.remoteAddress)}`;
  await rates.take("sign-in to account by address", atAccount);
  const hash = await database.tables.logins.password(session.userId);
  if (hash === undefined) return "noPassword";
  if (!(await passwords.matches(password, hash))) {
    const details = { with: "password", session: session.id, to: "confirm" };
    await auditLogin(ports, database.tables, who, session.userId, "login.failed", details);
    return "wrong";
  }
  await rates.clear("confirmation of session", session.id);
  await rates.clear("sign-in to account by address", atAccount);
  await noteConfirmed(ports, session, "password", who);
  return "confirmed";
}

/** `by`: the method of the confirmation. */
export async function noteConfirmed(ports: PagesPorts, session: SessionRecord, by: string, who: Requester): Promise<void> {
  const { database, clock } = ports;
  await database.change(async (tables) => {
    if (!(await tables.logins.confirmed(session.id, session.userId, clock.nowMs()))) return;
    await auditLogin(ports, tables, who, session.userId, "login.confirm", { with: by, session: session.id });
  });
}
