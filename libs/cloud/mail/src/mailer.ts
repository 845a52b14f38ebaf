/** Sends mail: through an SMTP server or, without one, to the log, from which a developer takes the links. */
import type { Logger, Secret } from "@perdure/base";
import { createTransport } from "nodemailer";
import { MAIL_TIMEOUT_MS } from "./limits.js";

export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
}

export interface Mailer {
  /** Resolves when the server has accepted the mail. Rejects when it should be sent again. */
  send(mail: Mail): Promise<void>;
  close(): void;
}

interface SmtpSettings {
  readonly host: string;
  readonly port: number;
  /** `implicit`: TLS from the first byte; `starttls`: TLS before any other command; `none`: no TLS, for a server on this machine. */
  readonly tls: "implicit" | "starttls" | "none";
  readonly user: string | undefined;
  readonly password: Secret | undefined;
  /** `Perdure <noreply@example.com>` */
  readonly from: string;
}

export function smtpMailer({ host, port, tls, user, password, from }: SmtpSettings): Mailer {
  const transport = createTransport({
    host,
    port,
    secure: tls === "implicit",
    requireTLS: tls === "starttls",
    ignoreTLS: tls === "none",
    ...(user === undefined ? {} : { auth: { user, pass: password?.reveal() ?? "" } }),
    connectionTimeout: MAIL_TIMEOUT_MS,
    greetingTimeout: MAIL_TIMEOUT_MS,
    socketTimeout: MAIL_TIMEOUT_MS,
    // No content of a mail is read from files or addresses that its text might name.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      // An object, so that the address is never parsed as a list.
      await transport.sendMail({
        from,
        to: { name: "", address: to },
        subject,
        text,
        headers: { "Auto-Submitted": "auto-generated" },
      });
    },
    close: () => transport.close(),
  };
}

/** Returns a mailer for development that logs mails: a reader of the log can use every link. */
export function logMailer(logger: Logger): Mailer {
  return {
    async send({ to, subject, text }) {
      logger.info({ to, subject, text }, "no mail server is configured; logging the mail instead");
    },
    close: () => undefined,
  };
}
