/** Redacts one payload: JSON by the names and forms of its values, anything else as a whole. */
import { fromUtf8Strict, utf8 } from "@perdure/base";
import { decodedText, type JsonScalar, mapScalars } from "./json-text.js";
import type { NameRule } from "./names.js";
import { redactText, type SecretList, stars } from "./texts.js";

export interface PayloadRules {
  readonly names: NameRule;
  /** Payloads that are not JSON stay as they are. */
  readonly keepsOtherFormats: boolean;
}

/** Adds the secrets of a payload to `secrets`. `name`: of the step or state key that the payload belongs to. */
export function collectSecrets(payload: Uint8Array, name: string, rules: PayloadRules, secrets: SecretList): void {
  const text = jsonText(payload);
  if (text === undefined) return;
  mapScalars(text, (scalar) => {
    if (isNamedSecret(scalar, name, rules.names))
      secrets.add(scalar.text.startsWith('"') ? decodedText(scalar.text) : scalar.text);
    return scalar.text;
  });
}

/** The payload itself when nothing in it is a secret; else a copy of the same length. */
export function redactPayload(payload: Uint8Array, name: string, rules: PayloadRules, secrets: SecretList): Uint8Array {
  if (payload.length === 0) return payload;
  const text = jsonText(payload);
  if (text === undefined) return rules.keepsOtherFormats ? payload : new Uint8Array(payload.length).fill(ASTERISK);
  const redacted = mapScalars(text, (scalar) => redactScalar(scalar, name, rules.names, secrets));
  return redacted === text ? payload : utf8(redacted);
}

const ASTERISK = 0x2a;

function jsonText(payload: Uint8Array): string | undefined {
  const text = payload.length === 0 ? undefined : fromUtf8Strict(payload);
  if (text === undefined) return undefined;
  try {
    JSON.parse(text);
    return text;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** The innermost name of the path that a rule decides. A kept field is kept with everything in it. */
function isNamedSecret({ path }: JsonScalar, name: string, names: NameRule): boolean {
  if (isKept(path, name, names)) return false;
  return names.isSecret(name) || path.some((field) => names.isSecret(field));
}

function isKept(path: readonly string[], name: string, names: NameRule): boolean {
  return names.isKept(name) || path.some((field) => names.isKept(field));
}

function redactScalar(scalar: JsonScalar, name: string, names: NameRule, secrets: SecretList): string {
  const { text, path } = scalar;
  if (isKept(path, name, names)) return text;
  const isSecret = isNamedSecret(scalar, name, names);
  if (!text.startsWith('"')) return isSecret || secrets.isOne(text) ? otherDigits(text) : text;
  const inside = text.slice(1, -1);
  if (isSecret) return `"${stars(inside)}"`;
  const redacted = redactText(inside, secrets);
  if (redacted !== inside) return `"${isString(`"${redacted}"`) ? redacted : stars(inside)}"`;
  // A secret may be written with escapes.
  const decoded = inside.includes("\\") ? decodedText(text) : inside;
  return redactText(decoded, secrets) === decoded ? text : `"${stars(inside)}"`;
}

/** A replacement may have cut an escape in two. */
function isString(token: string): boolean {
  try {
    JSON.parse(token);
    return true;
  } catch (cause) {
    if (cause instanceof SyntaxError) return false;
    throw cause;
  }
}

/** Digits become ones; `true`, `false` and `null`, the sign, the point and the exponent stay. */
function otherDigits(text: string): string {
  return /^-?\d/.test(text) ? text.replace(/^[^eE]+/, (mantissa) => mantissa.replace(/\d/g, "1")) : text;
}
