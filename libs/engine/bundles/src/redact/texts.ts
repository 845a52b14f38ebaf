/** Finds secrets in free text: by their form, and by their equality with secrets that were found elsewhere. */
import { utf8 } from "@perdure/base";
import { SECRETS_MAX } from "./limits.js";
import { FILTERED_CHARS, SecretSearch } from "./secret-search.js";

/** A secret that is shorter is searched for only as a whole value: `test` occurs in too many texts. */
export const SEARCHED_CHARS_MIN = FILTERED_CHARS;
/** A shorter secret is not searched for at all. */
const COMPARED_CHARS_MIN = 4;

/** Forms of secrets. Each is replaced as a whole. */
const FORMS: readonly RegExp[] = [
  /\b(?:bearer|basic)\s+[\w+/.~=-]{6,}/gi,
  /\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:sk|pk|rk|tok|whsec)_(?:live|test)?_?[A-Za-z0-9]{8,}/g,
  /\bsk-[\w-]{16,}/g,
  /\bAIza[\w-]{30,}/g,
  /\bglpat-[\w-]{16,}/g,
  /(?<=[?&](?:sig|signature|x-amz-signature|x-amz-security-token)=)[^&\s"']+/gi,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\b(?:gh[pousr]|github_pat)_\w{16,}/g,
  /\bxox[abeoprs]-[\w-]{8,}/g,
  // Up to the last @ before the host: a password may contain one.
  /(?<=\/\/[^/\s:@]*:)[^/\s]+(?=@)/g,
  /(?<=(?:password|passwd|pwd|passphrase|secret|token|api[-_ ]?key|access[-_ ]?key|credential)s?["']?\s*[=:]\s*["']?)[^\s"',;}&]+/gi,
];
/** Not the decimals of a number: one in ten has the check digit of a card. */
const CARD = /(?<!\d\.)\b\d(?:[ -]?\d){12,18}\b/g;

/** A value in quotes after the name of a secret is replaced up to the closing quote. */
const QUOTED =
  /((?:password|passwd|pwd|passphrase|secret|token|api[-_ ]?key|access[-_ ]?key|credential)s?["']?\s*[=:]\s*)(["'])(.{1,1000}?)\2/gi;

export class SecretList {
  readonly #search = new SecretSearch();
  readonly #compared = new Set<string>();
  #unsearched = 0;

  add(secret: string): void {
    const text = secret.trim();
    if (text.length < COMPARED_CHARS_MIN || this.#compared.has(text)) return;
    if (this.#compared.size >= SECRETS_MAX) {
      this.#unsearched++;
      return;
    }
    this.#compared.add(text);
    if (text.length >= SEARCHED_CHARS_MIN) for (const form of [text, ...encodedForms(text)]) this.#search.add(form);
  }

  isOne(text: string): boolean {
    return this.#compared.has(text.trim());
  }

  /** Secrets beyond `SECRETS_MAX`, counted each time they were found: texts are not searched for them. */
  get unsearched(): number {
    return this.#unsearched;
  }

  /** The text with asterisks in place of the secrets. */
  replaced(text: string): string {
    return this.#compared.size === 0 ? text : this.#search.replaced(text);
  }
}

/** In a URL, and in base64. */
function encodedForms(secret: string): readonly string[] {
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const base64 = Buffer.from(secret).toString("base64").replace(/=+$/, "");
  return [inUrl, base64];
}

/** The text with its secrets replaced by asterisks, one for each byte of UTF-8. */
export function redactText(text: string, secrets: SecretList): string {
  if (secrets.isOne(text)) return stars(text);
  let redacted = secrets
    .replaced(text)
    .replace(QUOTED, (_, before: string, quote: string, value: string) => before + quote + stars(value) + quote);
  for (const form of FORMS) redacted = redacted.replace(form, stars);
  return redacted.replace(CARD, (number) => (isCardNumber(number) ? stars(number) : number));
}

export function stars(text: string): string {
  return "*".repeat(utf8(text).length);
}

/** Luhn's check digit. */
function isCardNumber(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  let sum = 0;
  for (let place = 0; place < digits.length; place++) {
    const digit = Number(digits[digits.length - 1 - place]);
    const weighted = place % 2 === 0 ? digit : digit * 2;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}
