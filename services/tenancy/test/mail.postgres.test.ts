/** Login by mail, on a real database: confirmed addresses, reset passwords, and what answers reveal to others. */

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { INVITATION_MAILS_WAITING_MAX, MAILS_WAITING_MAX, putInvitationMail, putMail, smtpMailer } from "@perdure/mail";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { BrowserClient, linkIn, Mailbox, openTestTenancy, startSmtp, type TestTenancy } from "../src/testing/index.js";

const PASSWORD = "correct horse battery";
const OTHER_PASSWORD = "another horse battery";

let database: EmptyDatabase;
let cloud: TestTenancy;
const mailbox = new Mailbox();
beforeAll(async () => {
  database = await startDatabase();
  cloud = await openTestTenancy(database.url, { login: { verifiesEmail: true } });
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** So that no test uses up the attempts of another. */
async function freshRates(): Promise<void> {
  await cloud.ports.database.tables.session.write("DELETE FROM perdure_attempts");
  cloud.clock.aheadMs += 3_600_000;
}

let userCount = 0;
const newEmail = (): string => `person${userCount++}@perdure.test`;

/** Work after an answer is already running when the answer arrives: it ends with a mail, or without one. */
async function mailTo(email: string) {
  for (;;) {
    const [mail] = await mailbox.fetch(cloud.ports, email);
    if (mail !== undefined) return mail;
    await new Promise(setImmediate);
  }
}

async function signUp(email: string, password = PASSWORD) {
  await freshRates();
  const browser = new BrowserClient(cloud.origin);
  return { browser, answer: await browser.submit("/sign-up", "/sign-up", { email, password }) };
}

async function confirm(browser: BrowserClient, link: string, password = PASSWORD) {
  const token = new URL(link, "http://x").searchParams.get("token") ?? "";
  return await browser.submit(link, "/verify", { token, password });
}

async function member(email = newEmail()): Promise<{ browser: BrowserClient; email: string }> {
  const { browser } = await signUp(email);
  expect((await confirm(browser, linkIn(await mailTo(email), "/verify"))).location).toBe("/");
  return { browser, email };
}

async function signIn(email: string, password = PASSWORD) {
  const browser = new BrowserClient(cloud.origin);
  return { browser, answer: await browser.submit("/login", "/login", { email, password }) };
}

async function requestReset(email: string): Promise<string> {
  await freshRates();
  const browser = new BrowserClient(cloud.origin);
  const answer = await browser.submit("/password/forgot", "/password/forgot", { email });
  expect(answer.status).toBe(200);
  return linkIn(await mailTo(email), "/password/reset");
}

async function reset(link: string, password: string) {
  const token = new URL(link, "http://x").searchParams.get("token") ?? "";
  return await new BrowserClient(cloud.origin).submit(link, "/password/reset", { token, password });
}

const withoutProof = (text: string): string => text.replace(/name="csrf" value="[^"]+"/, "");

describe("confirming an address", () => {
  test("a sign-up is completed by the link together with the password, which makes an account", async () => {
    const email = newEmail();
    const { browser, answer } = await signUp(email);
    expect([answer.status, browser.cookies.size]).toEqual([200, 1]); // The cookie of the proof of forms.
    const first = linkIn(await mailTo(email), "/verify");
    expect((await signIn(email)).answer.status).toBe(403);
    expect((await confirm(browser, first)).status).toBe(404); // Signing in has sent another link.
    const link = linkIn(await mailTo(email), "/verify");
    const { users, accounts } = cloud.ports.database.tables;
    const user = await users.ofEmail(email);
    expect(await accounts.ofUser(user?.id as never)).toEqual([]);

    expect((await new BrowserClient(cloud.origin).get(link)).status).toBe(200); // As programs do that scan mail.
    expect((await confirm(browser, link, OTHER_PASSWORD)).status).toBe(401);
    expect((await confirm(browser, link)).location).toBe("/");
    expect((await browser.get("/profile")).text).toContain(email);
    expect(await accounts.ofUser(user?.id as never)).toHaveLength(1);
    expect((await confirm(new BrowserClient(cloud.origin), link)).status).toBe(404);
    expect((await signIn(email)).answer.location).toBe("/");
  });

  test("links end after a day, and malformed ones are refused", async () => {
    const email = newEmail();
    const { browser } = await signUp(email);
    const link = linkIn(await mailTo(email), "/verify");
    cloud.clock.aheadMs += 86_400_000;
    for (const bad of [link, "/verify", "/verify?token=x", `/verify?token=${"0".repeat(43)}`]) {
      expect((await confirm(browser, bad)).status).toBe(404);
    }
  });

  test("an attacker who signs up with a foreign address has no access to the account of its owner", async () => {
    const email = newEmail();
    await signUp(email, OTHER_PASSWORD);
    const otherLink = linkIn(await mailTo(email), "/verify");
    const { browser } = await signUp(email);
    const theirs = linkIn(await mailTo(email), "/verify");
    expect((await confirm(browser, otherLink)).status).toBe(404);
    expect((await confirm(browser, theirs)).location).toBe("/");
    expect((await signIn(email, OTHER_PASSWORD)).answer.status).toBe(401);
    // Once it is confirmed, signing up again changes nothing.
    const again = await signUp(email, OTHER_PASSWORD);
    expect(again.answer.status).toBe(200);
    expect((await mailTo(email)).subject).toBe("You have an account already");
    expect((await signIn(email)).answer.location).toBe("/");
  });
});

describe("password reset", () => {
  test("is replaced by a reader of the mail: once, and it ends all sessions, of devices too", async () => {
    const { browser, email } = await member();
    const { users, logins, audit, accounts } = cloud.ports.database.tables;
    const user = await users.ofEmail(email);
    const { token: access } = await cloud.ports.tokens.issue(user?.id as never, "session_device");
    const expiresAtMs = cloud.clock.nowMs() + 86_400_000;
    const device = {
      id: "session_device",
      userId: user?.id as never,
      kind: "device" as const,
      label: "cli",
      remoteAddress: undefined,
    };
    await logins.begin({ ...device, createdAtMs: cloud.clock.nowMs(), expiresAtMs, confirmedAtMs: undefined }, undefined);
    const link = await requestReset(email);
    expect((await browser.get("/profile")).status).toBe(200);

    expect((await reset(link, "short")).status).toBe(400);
    expect((await reset(link, email)).status).toBe(400);
    expect((await reset(link, OTHER_PASSWORD)).location).toBe("/login");
    expect((await reset(link, "yet another one!")).status).toBe(404);
    expect((await browser.get("/profile")).location).toBe("/login?return=%2Fprofile");
    const headers = { authorization: `Bearer ${access.reveal()}` };
    expect((await fetch(`${cloud.origin}/cloud/ListAccounts`, { method: "POST", headers })).status).toBe(401);
    expect((await signIn(email)).answer.status).toBe(401);
    expect((await signIn(email, OTHER_PASSWORD)).answer.location).toBe("/");
    expect((await mailTo(email)).subject).toBe("Your password was changed");
    const [account] = await accounts.ofUser(user?.id as never);
    const lines = await audit.list({ accountId: account?.id as never, action: "login.reset-password" }, 5);
    expect(lines).toMatchObject([{ details: { endedSessions: 2 } }]);
  });

  test("a link works for half an hour, and only the newest one", async () => {
    const { email } = await member();
    const old = await requestReset(email);
    const link = await requestReset(email);
    expect((await reset(old, OTHER_PASSWORD)).status).toBe(404);
    cloud.clock.aheadMs += 30 * 60_000;
    expect((await reset(link, OTHER_PASSWORD)).status).toBe(404);
    expect((await signIn(email)).answer.location).toBe("/");
  });

  test("a link for one purpose is not accepted for another", async () => {
    const { email } = await member();
    const link = await requestReset(email);
    expect((await confirm(new BrowserClient(cloud.origin), link.replace("/password/reset", "/verify"))).status).toBe(404);
    expect((await reset(link, OTHER_PASSWORD)).location).toBe("/login");
  });

  test("pending invitations leave places for links, and all mails together have a bound", async () => {
    const { ports } = cloud;
    const { tables } = ports.database;
    const wait = (count: number) =>
      tables.session.write(
        "INSERT INTO perdure_mails (sealed, created_at_ms, due_at_ms) SELECT '', 0, $2 FROM generate_series(1, $1)",
        [count, Number.MAX_SAFE_INTEGER],
      );
    const mail = { to: newEmail(), subject: "hello", text: "hello" };
    const isPut = async (put: typeof putMail): Promise<boolean> => {
      const before = await tables.mails.count();
      await put(ports, tables, mail);
      return (await tables.mails.count()) > before;
    };
    try {
      await wait(INVITATION_MAILS_WAITING_MAX);
      expect([await isPut(putInvitationMail), await isPut(putMail)]).toEqual([false, true]);
      await wait(MAILS_WAITING_MAX - INVITATION_MAILS_WAITING_MAX);
      expect([await isPut(putInvitationMail), await isPut(putMail)]).toEqual([false, false]);
    } finally {
      await tables.session.write("DELETE FROM perdure_mails");
    }
  });

  test("the number of mails to an address is bounded", async () => {
    const { email } = await member();
    await freshRates();
    const browser = new BrowserClient(cloud.origin);
    const statuses = [];
    for (let i = 0; i < 5; i++) {
      statuses.push((await browser.submit("/password/forgot", "/password/forgot", { email })).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });
});

describe("T30: answers do not reveal which addresses have an account", () => {
  test("sign-up and password reset answer the same for known and unknown addresses", async () => {
    const { email } = await member();
    const pages = { signUp: new Set<string>(), forgot: new Set<string>() };
    for (const one of [email, newEmail()]) {
      const { answer } = await signUp(one);
      pages.signUp.add(`${answer.status} ${withoutProof(answer.text)}`);
      await freshRates();
      const forgot = await new BrowserClient(cloud.origin).submit("/password/forgot", "/password/forgot", { email: one });
      pages.forgot.add(`${forgot.status} ${withoutProof(forgot.text)}`);
    }
    expect([pages.signUp.size, pages.forgot.size]).toEqual([1, 1]);
  });
});

describe("mail by SMTP", () => {
  const settings = {
    host: "127.0.0.1",
    tls: "none" as const,
    user: "us",
    password: new Secret("hidden"),
    from: "Perdure <us@perdure.test>",
  };
  const mail = { to: "ada@perdure.test", subject: "Grüße", text: "Hello\n.\nBcc: spy@perdure.test\n" };

  test("has its sender and recipient, and nothing in its text is a command", async () => {
    const smtp = await startSmtp();
    const mailer = smtpMailer({ ...settings, port: smtp.port });
    await mailer.send(mail);
    mailer.close();
    await smtp.close();
    expect(smtp.receivedLines.find((line) => line.startsWith("AUTH PLAIN"))).toBe(
      `AUTH PLAIN ${Buffer.from("\0us\0hidden").toString("base64")}`,
    );
    expect(smtp.receivedLines.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([
      "MAIL FROM:<us@perdure.test>",
      "RCPT TO:<ada@perdure.test>",
    ]);
    expect(smtp.receivedLines).toContain("Auto-Submitted: auto-generated");
    expect(smtp.receivedLines.find((line) => line.startsWith("Subject:"))).toContain("=?UTF-8?");
  });

  test("an address that contains others is not split", async () => {
    const smtp = await startSmtp();
    const mailer = smtpMailer({ ...settings, port: smtp.port });
    await mailer.send({ ...mail, to: "ada@perdure.test\r\nRCPT TO:<spy@perdure.test>" }).catch(() => undefined);
    await mailer.send({ ...mail, to: "ada@perdure.test, spy@perdure.test" }).catch(() => undefined);
    mailer.close();
    await smtp.close();
    expect(smtp.receivedLines.filter((line) => line.startsWith("RCPT") && line.includes("<spy@"))).toEqual([]);
  });

  test("a server that refuses it, or offers no TLS where it must, makes it pending again", async () => {
    const smtp = await startSmtp((line) => (/^(RCPT|STARTTLS)/.test(line) ? "451 later" : undefined));
    const plain = smtpMailer({ ...settings, port: smtp.port });
    await expect(plain.send(mail)).rejects.toThrow("451");
    const secured = smtpMailer({ ...settings, port: smtp.port, tls: "starttls" });
    await expect(secured.send(mail)).rejects.toThrow(/TLS/i);
    for (const mailer of [plain, secured]) mailer.close();
    await smtp.close();
    expect(smtp.receivedLines.filter((line) => line === "DATA")).toEqual([]);
  });
});
