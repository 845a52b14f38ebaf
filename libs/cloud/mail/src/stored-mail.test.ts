import { expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { mailOf, storedBytesOf } from "./stored-mail.js";

const mail = { to: "a@example.test", subject: "Sign in", text: "https://cloud.example.test/login?token=hidden" };

test("a pending mail is read as it was stored", () => {
  expect(mailOf(storedBytesOf(mail))).toEqual(mail);
  expect(mailOf(utf8(JSON.stringify({ ...mail, html: "" })))).toEqual(mail);
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
    expect(() => mailOf(utf8(text))).toThrow(expect.objectContaining({ code: "STO0003" }));
    expect(() => mailOf(utf8(text))).not.toThrow(/hidden/);
  }
});
