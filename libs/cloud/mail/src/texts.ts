/** Texts of all mails, in one style: what happened, what to do, and that no action is needed. */
import type { MemberRole } from "@perdure/cloud";
import type { Mail } from "./mailer.js";

type Text = Pick<Mail, "subject" | "text">;

const paragraphs = (...parts: readonly string[]): string => `${parts.join("\n\n")}\n`;
const number = (value: number): string => value.toLocaleString("en-US");

export function verifyText(link: string): Text {
  return {
    subject: "Confirm your e-mail address",
    text: paragraphs(
      "There was a sign-up for Perdure with this address. If it was you, confirm it here within a day:",
      link,
      "If it was not, do nothing: the account cannot be used without this confirmation.",
    ),
  };
}

/** Returns the mail for a sign-up with an address that has an account. The page shows the same whether or not the account exists. */
export function existingAccountText(loginLink: string, resetLink: string): Text {
  return {
    subject: "You have an account already",
    text: paragraphs(
      "There was an attempt to sign up for Perdure with this address, which has an account. If it was you, sign in:",
      loginLink,
      "To choose a new password:",
      resetLink,
      "If it was not you, do nothing: nothing was changed.",
    ),
  };
}

export function resetText(link: string): Text {
  return {
    subject: "Choose a new password",
    text: paragraphs(
      "A new password was requested for your Perdure account. If it was you, choose one here within half an hour:",
      link,
      "It ends all sessions, of browsers and of devices. If it was not you, do nothing: the old password still works.",
    ),
  };
}

export function passwordChangedText(resetLink: string): Text {
  return {
    subject: "Your password was changed",
    text: paragraphs(
      "The password of your Perdure account was changed, and all sessions were ended. If it was you, sign in again.",
      "If it was not, choose another one at once, and make sure that only you can read your mail:",
      resetLink,
    ),
  };
}

/** Names are untrusted texts of their owners, so the mail marks them as quotations. */
export function invitationText(accountName: string, inviter: string, role: MemberRole, link: string): Text {
  return {
    subject: "You are invited to an account of Perdure",
    text: paragraphs(
      `${inviter} invites you to the account "${oneLine(accountName)}" with the role ${role}. Join within a week:`,
      link,
      "It works for this address alone, and once. If you do not know who this is, do nothing.",
    ),
  };
}

export function quotaWarningText(accountName: string, what: string, used: number, max: number, then: string): Text {
  return {
    subject: `${Math.floor((100 * used) / max)} % of this month's ${what} are used`,
    text: paragraphs(
      `The account "${oneLine(accountName)}" has used ${number(used)} of the ${number(max)} ${what} that its plan has in a month.`,
      then,
      "See who uses them with 'perdure usage', or choose another plan.",
    ),
  };
}

export function quotaSuspendedText(accountName: string, used: number, max: number): Text {
  return {
    subject: "Environments are suspended: the month's actions are used up",
    text: paragraphs(
      `The account "${oneLine(accountName)}" has used ${number(used)} actions; its plan has ${number(max)} in a month.`,
      "Its environments answer reads and run nothing. Nothing is lost: they continue when the month ends or the plan is changed.",
    ),
  };
}

export function idleText(environment: string, accountName: string, days: number): Text {
  return {
    subject: `The environment ${environment} will be suspended in ${days} days`,
    text: paragraphs(
      `The environment "${environment}" of the account "${oneLine(accountName)}" has not been used for a while.`,
      `Unless it is used, it is suspended in ${days} days. Nothing is deleted: the next call with a key, or 'perdure env resume', brings it back.`,
    ),
  };
}

/** So that a name cannot add paragraphs to the mail. */
function oneLine(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, 100);
}
