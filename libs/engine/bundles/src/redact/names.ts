/** Decides by its name whether a field holds a secret. */

/** Splits a name: `cardNumber`, `card_number` and `CARD-NUMBER` have the same two parts. */
function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== "");
}

/** Names that consist of one of these words, or contain it as a word. */
const WORDS: ReadonlySet<string> = new Set([
  ...["password", "passwords", "passwd", "pwd", "passphrase", "passcode", "pin", "otp", "totp", "mfa"],
  ...["secret", "secrets", "token", "tokens", "jwt", "bearer", "credential", "credentials", "auth", "authorization"],
  ...[
    "cookie",
    "cookies",
    "signature",
    "signatures",
    "card",
    "cards",
    "pan",
    "pans",
    "pins",
    "cvv",
    "cvc",
    "ssn",
    "iban",
    "ibans",
  ],
]);

/** Two words in this order. */
const PAIRS: ReadonlySet<string> = new Set([
  ...["api key", "access key", "private key", "signing key", "encryption key", "account key", "auth key", "host key"],
  ...["api keys", "access keys", "private keys", "signing keys", "encryption keys", "account numbers"],
  ...["account number", "social security", "security code", "tax id", "session id"],
]);

/** Parts of names that are written as one word. */
const PARTS = [
  ...["password", "passphrase", "secret", "accesstoken", "authtoken", "refreshtoken", "apikey", "accesskey", "privatekey"],
  ...["credential", "cardnumber", "creditcard", "accountnumber", "sessionid", "sessiontoken", "idtoken", "csrftoken"],
];

export interface NameRule {
  isSecret(name: string): boolean;
  isKept(name: string): boolean;
}

/** `added` and `kept` are names of fields without regard to case, `_` and `-`; `kept` has precedence. */
export function nameRule({ added, kept }: { readonly added: readonly string[]; readonly kept: readonly string[] }): NameRule {
  const addedNames = new Set(added.map(plain));
  const keptNames = new Set(kept.map(plain));
  const isSecret = remembered((name) => {
    const text = plain(name);
    return !keptNames.has(text) && (addedNames.has(text) || isSecretByRule(name, text));
  });
  const isKept = keptNames.size === 0 ? () => false : remembered((name) => keptNames.has(plain(name)));
  return { isSecret, isKept };
}

function remembered(decide: (name: string) => boolean): (name: string) => boolean {
  const decisions = new Map<string, boolean>();
  return (name) => {
    let decision = decisions.get(name);
    if (decision === undefined) {
      decision = decide(name);
      if (decisions.size < NAMES_REMEMBERED_MAX) decisions.set(name, decision);
    }
    return decision;
  };
}

/** Keys of a map in a payload may be ids: their number is not bounded. */
const NAMES_REMEMBERED_MAX = 10_000;

function plain(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\d]/gu, "");
}

function isSecretByRule(name: string, text: string): boolean {
  const words = wordsOf(name);
  if (words.some((word) => WORDS.has(word))) return true;
  if (words.some((word, index) => PAIRS.has(`${word} ${words[index + 1] ?? ""}`))) return true;
  return PARTS.some((part) => text.includes(part));
}
