/**
 * Limits guesses of passwords without locking the owner out. Attempts count for the account and the network they come from, with a wider
 * limit for the account over all networks; and a browser in which the owner has signed in before has a separate counter, which attempts
 * from elsewhere do not use up.
 */
import { Secret } from "@perdure/base";
import { networkOf, randomBase62 } from "@perdure/cloud";
import type { IdentityPorts } from "./ports.js";
import type { Requester } from "./sessions.js";

/** The account, network and browser of an attempt. */
interface SignInAttempt {
  /** Subject that `subjectOf` returned. */
  readonly subject: string;
  readonly who: Requester;
  /** Value of the browser's device cookie. */
  readonly device: string | undefined;
}

/** Throws PERD0429. */
export async function takeAttempt(ports: IdentityPorts, attempt: SignInAttempt): Promise<void> {
  for (const [rate, subject] of countsOf(ports, attempt)) await ports.rates.take(rate, subject);
}

/** Called after the right password. */
export async function clearAttempts(ports: IdentityPorts, attempt: SignInAttempt): Promise<void> {
  for (const [rate, subject] of countsOf(ports, attempt)) await ports.rates.clear(rate, subject);
}

function countsOf(ports: IdentityPorts, { subject, who, device }: SignInAttempt) {
  const deviceSubject = device === undefined ? undefined : deviceSubjectOf(ports, device, subject);
  if (deviceSubject !== undefined) return [["sign-in by known browser", deviceSubject]] as const;
  return [
    ["sign-in to account by address", `${subject} ${networkOf(who.remoteAddress)}`],
    ["sign-in to account", subject],
  ] as const;
}

const COOKIE = /^(\d{1,6})\.([0-9A-Za-z]{22})\.([\w-]{43})$/;

/**
 * Cookie for a browser in which a user has just signed in to this account. It grants no access: it only gives the browser its own counter.
 */
export function newDevice({ ring, random }: IdentityPorts, subject: string): string {
  const nonce = randomBase62(22, random);
  const { hash, pepperVersion } = ring.hash(proofOf(nonce, subject));
  return `${pepperVersion}.${nonce}.${Buffer.from(hash).toString("base64url")}`;
}

/** Subject of the browser's counter; undefined unless `newDevice` made the cookie for this account. */
function deviceSubjectOf({ ring }: IdentityPorts, cookie: string, subject: string): string | undefined {
  const [, version, nonce = "", proof = ""] = COOKIE.exec(cookie) ?? [];
  if (version === undefined) return undefined;
  return ring.matches(proofOf(nonce, subject), Buffer.from(proof, "base64url"), Number(version)) ? nonce : undefined;
}

function proofOf(nonce: string, subject: string): Secret {
  return new Secret(`perdure device ${subject} ${nonce}`);
}
