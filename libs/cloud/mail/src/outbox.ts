/**
 * The mail outbox. A mail is stored in the transaction that causes it, so neither exists without the other, and the duration of a request
 * reveals nothing about it. Any process sends pending mail; a mail may be sent twice when a process crashes in between.
 */
import { backoffMs, causeMessage, RepeatedTask } from "@perdure/base";
import type { CredentialPorts } from "@perdure/credentials";
import type { TenancyTables } from "@perdure/postgres";
import {
  INVITATION_MAILS_WAITING_MAX,
  MAIL_AGAIN_FIRST_MS,
  MAIL_AGAIN_LONGEST_MS,
  MAIL_GIVEN_UP_MS,
  MAIL_POLL_MS,
  MAILS_AT_ONCE,
  MAILS_WAITING_MAX,
} from "./limits.js";
import type { Mail, Mailer } from "./mailer.js";
import { mailOf, storedBytesOf } from "./stored-mail.js";

const CONTEXT = "a mail";

type PutPorts = Omit<CredentialPorts, "database">;

/**
 * Sent soon after the transaction of `tables` commits. Dropped, with a log line, when far too many are pending: users can request it again.
 */
export function putMail(ports: PutPorts, tables: TenancyTables, mail: Mail): Promise<void> {
  return put(ports, tables, mail, MAILS_WAITING_MAX);
}

/** The same for mails that members can send to any address: they leave places for links to sign in. */
export function putInvitationMail(ports: PutPorts, tables: TenancyTables, mail: Mail): Promise<void> {
  return put(ports, tables, mail, INVITATION_MAILS_WAITING_MAX);
}

async function put(ports: PutPorts, tables: TenancyTables, mail: Mail, waitingMax: number): Promise<void> {
  const { ring, clock, random, logger } = ports;
  if ((await tables.mails.count()) >= waitingMax) {
    logger.error({ subject: mail.subject, waiting: waitingMax }, "too many pending mails; dropped one");
    return;
  }
  await tables.mails.put(ring.seal(storedBytesOf(mail), CONTEXT, random), clock.nowMs());
}

interface OutboxPorts extends CredentialPorts {
  readonly mailer: Mailer;
}

/** Sends until it is disposed of. */
export class MailOutbox implements AsyncDisposable {
  readonly #task: RepeatedTask;
  readonly #mailer: Mailer;

  constructor(ports: OutboxPorts) {
    const { clock, logger, mailer } = ports;
    this.#mailer = mailer;
    const run = async (signal: AbortSignal): Promise<void> => {
      while ((await sendDue(ports)) === MAILS_AT_ONCE && !signal.aborted);
    };
    this.#task = new RepeatedTask({ clock, logger, pauseMs: MAIL_POLL_MS, run, failed: "mails could not be read; retrying" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#task[Symbol.asyncDispose]();
    this.#mailer.close();
  }
}

/** Sends due mails, several at a time; returns how many they were. */
export async function sendDue(ports: OutboxPorts): Promise<number> {
  const { database, clock } = ports;
  const nowMs = clock.nowMs();
  const due = await database.tables.mails.take(MAILS_AT_ONCE, nowMs, nowMs + MAIL_AGAIN_FIRST_MS);
  await Promise.all(due.map((mail) => sendOne(ports, mail)));
  return due.length;
}

type DueMail = Awaited<ReturnType<TenancyTables["mails"]["take"]>>[number];

async function sendOne(ports: OutboxPorts, { id, sealed, createdAtMs, tries }: DueMail): Promise<void> {
  const { database, ring, mailer, clock, random, logger } = ports;
  try {
    await mailer.send(mailOf(ring.open(sealed, CONTEXT)));
  } catch (cause) {
    // Only its message: other properties of the error may hold the mail.
    const reason = causeMessage(cause);
    const nowMs = clock.nowMs();
    if (nowMs - createdAtMs < MAIL_GIVEN_UP_MS) {
      const pauseMs = backoffMs(tries - 1, { firstMs: MAIL_AGAIN_FIRST_MS, longestMs: MAIL_AGAIN_LONGEST_MS }, random);
      logger.warn({ reason, tries, pauseMs }, "a mail could not be sent; trying again");
      await database.tables.mails.later(id, nowMs + pauseMs);
      return;
    }
    logger.error({ reason, tries }, "a mail could not be sent and is given up");
  }
  await database.tables.mails.remove(id);
}
