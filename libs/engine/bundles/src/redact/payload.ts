/** Redacts one payload: JSON by the names and forms of its values, anything else as a whole. */
import { fromUtf8Strict, utf8 } from "@perdure/base";
import { decodedText, type JsonScalar, mapScalars } from "./json-text.js";
import type { NameRule } from "./names.js";
import { atOnce, type Sliced } from "./slices.js";
import { redactText, SEARCHED_CHARS_MIN, type SecretList, stars } from "./texts.js";

export interface PayloadRules {
  readonly names: NameRule;
  /** Payloads that are not JSON stay as they are. */
  readonly keepsOtherFormats: boolean;
}

/** Adds the secrets of a payload to `secrets`. `name`: of the step or state key that the payload belongs to. */
export function* collectSecrets(payload: Uint8Array, name: string, rules: PayloadRules, secrets: SecretList): Sliced<void> {
  const text = jsonText(payload);
  if (text !== undefined) yield* collectIn(text, name, rules.names, secrets, NESTED_MAX);
}

function* collectIn(text: string, name: string, names: NameRule, secrets: SecretList, depth: number): Sliced<void> {
  const labelled = yield* labelledObjects(text, names);
  yield* mapScalars(text, (scalar) => {
    const value = scalar.text.startsWith('"') ? decodedText(scalar.text) : undefined;
    // `true` and `null` are no secrets: replaced everywhere, they would change other payloads.
    if (isNamedSecret(scalar, name, names, labelled)) {
      if (value !== undefined || /\d/.test(scalar.text)) secrets.add(value ?? scalar.text);
    } else if (value !== undefined && depth > 0 && !isKept(scalar.path, name, names)) {
      const inner = nestedJson(value) ?? encodedJson(value);
      if (inner !== undefined) atOnce(collectIn(inner, name, names, secrets, depth - 1));
    }
    return scalar.text;
  });
}

/** The payload itself when nothing in it is a secret; else a copy, of the same length unless it contains JSON in a string. */
export function* redactPayload(payload: Uint8Array, name: string, rules: PayloadRules, secrets: SecretList): Sliced<Uint8Array> {
  if (payload.length === 0) return payload;
  const text = jsonText(payload);
  if (text === undefined) return rules.keepsOtherFormats ? payload : new Uint8Array(payload.length).fill(ASTERISK);
  const redacted = yield* redactJson(text, name, rules.names, secrets, NESTED_MAX);
  return redacted === text ? payload : utf8(redacted);
}

function* redactJson(text: string, name: string, names: NameRule, secrets: SecretList, depth: number): Sliced<string> {
  const labelled = yield* labelledObjects(text, names);
  return yield* mapScalars(
    text,
    (scalar) => {
      if (isKept(scalar.path, name, names)) return scalar.text;
      const isSecret = isNamedSecret(scalar, name, names, labelled);
      if (!scalar.text.startsWith('"'))
        return isSecret || isSecretNumber(scalar.text, secrets) ? otherDigits(scalar.text) : scalar.text;
      if (isSecret) return `"${stars(scalar.text.slice(1, -1))}"`;
      return redactNested(scalar.text, name, names, secrets, depth) ?? redactString(scalar.text, secrets);
    },
    (field) => redactString(field, secrets),
  );
}

/** JSON in a string is redacted by its own names; undefined when the string contains none. */
function redactNested(token: string, name: string, names: NameRule, secrets: SecretList, depth: number): string | undefined {
  if (depth === 0) return undefined;
  const value = decodedText(token);
  const inner = nestedJson(value);
  if (inner !== undefined) {
    const redacted = atOnce(redactJson(inner, name, names, secrets, depth - 1));
    return redacted === inner ? token : JSON.stringify(redacted);
  }
  const encoded = encodedJson(value);
  if (encoded === undefined) return undefined;
  return atOnce(redactJson(encoded, name, names, secrets, depth - 1)) === encoded ? token : `"${stars(token.slice(1, -1))}"`;
}

/** Levels of JSON in JSON strings, or in base64, that are read. */
const NESTED_MAX = 4;

/** The text itself when it is a JSON object or array. */
function nestedJson(text: string): string | undefined {
  return /^\s*[{[]/.test(text) && isJson(text) ? text : undefined;
}

/** The JSON object or array that a text in base64 contains. */
function encodedJson(text: string): string | undefined {
  if (text.length < 8 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined;
  const decoded = fromUtf8Strict(Buffer.from(text, "base64"));
  return decoded === undefined ? undefined : nestedJson(decoded);
}

/** Numbers of the objects that name a secret beside its value: `{"name": "authorization", "value": …}`. */
function* labelledObjects(text: string, names: NameRule): Sliced<ReadonlySet<number>> {
  const labelled = new Set<number>();
  yield* mapScalars(text, ({ text: token, path, object }) => {
    if (LABELS.has(path.at(-1)?.toLowerCase() ?? "") && token.startsWith('"') && names.isSecret(decodedText(token)))
      labelled.add(object);
    return token;
  });
  return labelled;
}

const LABELS: ReadonlySet<string> = new Set(["name", "key", "header", "field"]);
const LABELLED: ReadonlySet<string> = new Set(["value", "values"]);

/** In place of each byte of what is not shown. */
export const ASTERISK = 0x2a;

function jsonText(payload: Uint8Array): string | undefined {
  const text = payload.length === 0 ? undefined : fromUtf8Strict(payload);
  return text !== undefined && isJson(text) ? text : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (cause) {
    if (cause instanceof SyntaxError) return false;
    throw cause;
  }
}

/** The innermost name of the path that a rule decides. A kept field is kept with everything in it. */
function isNamedSecret({ path, object }: JsonScalar, name: string, names: NameRule, labelled: ReadonlySet<number>): boolean {
  if (isKept(path, name, names)) return false;
  if (names.isSecret(name) || path.some((field) => names.isSecret(field))) return true;
  return labelled.has(object) && LABELLED.has(path.at(-1)?.toLowerCase() ?? "");
}

function isKept(path: readonly string[], name: string, names: NameRule): boolean {
  return names.isKept(name) || path.some((field) => names.isKept(field));
}

function isSecretNumber(text: string, secrets: SecretList): boolean {
  return secrets.isOne(text) || (text.length >= SEARCHED_CHARS_MIN && redactText(text, secrets) !== text);
}

/** `token`: a JSON string, quotes included. */
function redactString(token: string, secrets: SecretList): string {
  const inside = token.slice(1, -1);
  const redacted = redactText(inside, secrets);
  // A replacement may have cut an escape in two.
  if (redacted !== inside && !isJson(`"${redacted}"`)) return `"${stars(inside)}"`;
  // A secret may be written with escapes.
  const decoded = redacted.includes("\\") ? decodedText(`"${redacted}"`) : redacted;
  return redactText(decoded, secrets) === decoded ? `"${redacted}"` : `"${stars(inside)}"`;
}

/** Digits become ones; `true`, `false` and `null`, the sign, the point and the exponent stay. */
function otherDigits(text: string): string {
  return /^-?\d/.test(text) ? text.replace(/^[^eE]+/, (mantissa) => mantissa.replace(/\d/g, "1")) : text;
}
