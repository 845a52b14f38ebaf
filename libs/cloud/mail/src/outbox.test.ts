import { expect, test } from "@jest/globals";
import { mailOf } from "./outbox.js";

const mail = { to: "a@example.test", subject: "Sign in", text: "https://cloud.example.test/login?token=hidden" };

test("a pending mail is read as it was stored", () => {
  expect(mailOf(JSON.stringify(mail))).toEqual(mail);
  expect(mailOf(JSON.stringify({ ...mail, html: "" }))).toEqual(mail);
});

test("a stored mail that cannot be read is damaged data, and the error does not hold its links", () => {
  const whole = JSON.stringify(mail);
  for (const text of [
    "",
    "null",
    "[]",
    whole.slice(0, -1),
    JSON.stringify({ ...mail, to: undefined }),
    JSON.stringify({ ...mail, subject: 1 }),
  ]) {
    expect(() => mailOf(text)).toThrow(expect.objectContaining({ code: "STO0003" }));
    expect(() => mailOf(text)).not.toThrow(/hidden/);
  }
});
