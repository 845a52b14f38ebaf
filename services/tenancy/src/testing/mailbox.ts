/** A mail server for tests: it keeps the mails that it receives, or is unavailable. */

import type { TenancyPorts } from "@perdure/cloud-api";
import type { Mail, Mailer } from "@perdure/mail";
import { sendDue } from "@perdure/mail";

export class Mailbox implements Mailer {
  readonly received: Mail[] = [];
  isAway = false;

  async send(mail: Mail): Promise<void> {
    if (this.isAway) throw new Error("the mail server is away");
    this.received.push(mail);
  }

  close(): void {}

  /** Sends pending mails, and returns those for this address since the last call. */
  async fetch(ports: TenancyPorts, to: string): Promise<Mail[]> {
    while ((await sendDue({ ...ports, mailer: this })) > 0);
    const mine = this.received.filter((mail) => mail.to === to);
    for (const mail of mine) this.received.splice(this.received.indexOf(mail), 1);
    return mine;
  }
}

/** The path and query of a link in a mail to a page of this server. */
export function linkIn({ text }: Mail, path: string): string {
  const url = text.split(/\s+/).find((part) => part.includes(`://`) && new URL(part).pathname === path);
  if (url === undefined) throw new Error(`there is no link to ${path} in: ${text}`);
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
