/**
 * Why: passwords are guessed against an account from many places, and whoever guesses must not lock its owner out. So attempts count for the
 * account and the network they come from, with a wider limit for the account over all networks; and a browser in which the owner has signed
 * in before has a count of its own, which nobody else uses up.
 */
import { Secret } from "@perdure/base";
import { networkOf, randomBase62 } from "@perdure/cloud";
import type { TenancyPorts } from "../ports.js";
import type { Requester } from "./sessions.js";

/** Whose password is tried, from where, and in which browser. */
export interface SignInAttempt {
  /** As `subjectOf` says it. */
  readonly subject: string;
  readonly who: Requester;
  /** Value of the browser's device cookie. */
  readonly device: string | undefined;
}

/** Throws PERD0429. */
export async function takeAttempt(ports: TenancyPorts, attempt: SignInAttempt): Promise<void> {
  for (const [rate, subject] of countsOf(ports, attempt)) await ports.rates.take(rate, subject);
}

/** After the right password. */
export async function clearAttempts(ports: TenancyPorts, attempt: SignInAttempt): Promise<void> {
  for (const [rate, subject] of countsOf(ports, attempt)) await ports.rates.clear(rate, subject);
}

function countsOf(ports: TenancyPorts, { subject, who, device }: SignInAttempt) {
  const deviceSubject = device === undefined ? undefined : deviceSubjectOf(ports, device, subject);
  if (deviceSubject !== undefined) return [["sign-in by known browser", deviceSubject]] as const;
  return [
    ["sign-in to account by address", `${subject} ${networkOf(who.remoteAddress)}`],
    ["sign-in to account", subject],
  ] as const;
}

const COOKIE = /^(\d{1,6})\.([0-9A-Za-z]{22})\.([\w-]{43})$/;

/** For a browser in which somebody has just signed in to this account. It opens nothing: it only is counted apart. */
export function newDevice({ ring, random }: TenancyPorts, subject: string): string {
  const nonce = randomBase62(22, random);
  const { hash, pepperVersion } = ring.hash(proofOf(nonce, subject));
  return `${pepperVersion}.${nonce}.${Buffer.from(hash).toString("base64url")}`;
}

/** What it is counted as; undefined unless `newDevice` made it for this account. */
function deviceSubjectOf({ ring }: TenancyPorts, cookie: string, subject: string): string | undefined {
  const [, version, nonce = "", proof = ""] = COOKIE.exec(cookie) ?? [];
  if (version === undefined) return undefined;
  return ring.matches(proofOf(nonce, subject), Buffer.from(proof, "base64url"), Number(version)) ? nonce : undefined;
}

function proofOf(nonce: string, subject: string): Secret {
  return new Secret(`perdure device ${subject} ${nonce}`);
}
