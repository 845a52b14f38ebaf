/**
 * Redacts addresses that are a credential themselves, such as those of webhooks: `https://hooks.example/services/T0/B0/x7Kd…` and
 * `…?token=x7Kd…` accept requests from any client that has the address. Shown are the scheme, the host, the first segment of the path and the names of parameters.
 */

const REDACTED = "***";

/** A longer first segment may be a token itself; those of known receivers (`services`, `api`, `hooks`, `webhookb2`) are shorter. */
const SHOWN_SEGMENT_CHARS_MAX = 16;
/** Shorter texts are not credentials, and are parts of many words. */
const HIDDEN_CHARS_MIN = 4;

/** `https://***@hooks.example/services/***?token=***`; a text that cannot be parsed is hidden as a whole. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return REDACTED;
  const url = new URL(text);
  const { shown, hidden } = pathParts(url);
  const user = url.username === "" && url.password === "" ? "" : `${REDACTED}@`;
  const path = shown + (hidden.length === 0 ? "" : REDACTED);
  const query = parameters(url).map(({ shown, value }) => (value === "" ? shown : shown + REDACTED));
  const search = query.length === 0 ? "" : `?${query.join("&")}`;
  return `${url.protocol}//${user}${url.host}${path}${search}${url.hash === "" ? "" : `#${REDACTED}`}`;
}

/** Whether the address came from `redactUrl`, so that it does not lead anywhere. */
export function isRedactedUrl(text: string): boolean {
  if (!URL.canParse(text)) return text === REDACTED;
  const url = new URL(text);
  return (
    [url.username, url.password].includes(REDACTED) ||
    url.pathname.split("/").includes(REDACTED) ||
    parameters(url).some(({ value }) => value === REDACTED)
  );
}

/**
 * The text without the parts of the address that `redactUrl` hides: servers quote the path or the query of a request in their responses. A
 * part at the end of the text may be cut off (`isCut`): its beginning is hidden too.
 */
export function redactUrlParts(text: string, address: string, isCut = false): string {
  if (!URL.canParse(address)) return text;
  let redacted = text;
  const parts = hiddenTexts(new URL(address));
  for (const part of parts) redacted = redacted.replaceAll(part, REDACTED);
  if (!isCut) return redacted;
  const lengths = parts.map((part) => overlap(redacted, part));
  const longest = Math.max(0, ...lengths);
  return longest < HIDDEN_CHARS_MIN ? redacted : redacted.slice(0, -longest) + REDACTED;
}

function pathParts({ pathname }: URL): { readonly shown: string; readonly hidden: readonly string[] } {
  const [first = "", ...rest] = pathname.slice(1).split("/");
  if (first.length > SHOWN_SEGMENT_CHARS_MAX) return { shown: "/", hidden: [first, ...rest] };
  if (rest.every((segment) => segment === "")) return { shown: pathname, hidden: [] };
  return { shown: `/${first}/`, hidden: rest };
}

/** The name with the equals sign, and the value. A parameter without the sign may be a token as a whole (`?x7Kd…`), so it is a value. */
function parameters({ search }: URL): readonly { readonly shown: string; readonly value: string }[] {
  if (search === "") return [];
  const all = search.slice(1).split("&");
  return all.map((parameter) => {
    const start = parameter.indexOf("=") + 1;
    return { shown: parameter.slice(0, start), value: parameter.slice(start) };
  });
}

/** Longest first, so that a part that contains another one is replaced as a whole. */
function hiddenTexts(url: URL): readonly string[] {
  const raw = [...pathParts(url).hidden, ...parameters(url).map(({ value }) => value), url.username, url.password];
  const texts = new Set(raw.flatMap((part) => [part, decoded(part), decoded(part.replaceAll("+", " "))]));
  return [...texts].filter(({ length }) => length >= HIDDEN_CHARS_MIN).sort((a, b) => b.length - a.length);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Length of the longest end of `text` that is the beginning of `part`. */
function overlap(text: string, part: string): number {
  for (let length = Math.min(text.length, part.length - 1); length > 0; length--)
    if (text.endsWith(part.slice(0, length))) return length;
  return 0;
}
