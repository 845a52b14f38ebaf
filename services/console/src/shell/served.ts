/**
 * The page outlives the process that served it. Servers are restarted under it, and a new build removes the files that it would still load.
 * So it requests from its origin whether a server answers, and with which build.
 */

export type Served =
  | { readonly kind: "unreachable" }
  /** The console that this page is of. */
  | { readonly kind: "same" }
  /** Another build of the console: files of this one may be deleted. */
  | { readonly kind: "other" };

/** One try; a server that is there answers in a moment. */
const TRY_MS_MAX = 4_000;

export async function fetchServed(): Promise<Served> {
  let text: string;
  try {
    const response = await fetch(document.baseURI, { cache: "no-store", signal: AbortSignal.timeout(TRY_MS_MAX) });
    // A proxy or gateway in front of a server that is down answers with these.
    if (response.status >= 502 && response.status <= 504) return { kind: "unreachable" };
    text = await response.text();
  } catch {
    return { kind: "unreachable" };
  }
  const own = mainScript(document.documentElement.outerHTML);
  const theirs = mainScript(text);
  // A page that is not the console at all (another program listens there now) is left to the pages' own requests.
  return { kind: own !== undefined && theirs !== undefined && own !== theirs ? "other" : "same" };
}

/** `assets/index-<hash>.js`: it differs when anything does. */
function mainScript(page: string): string | undefined {
  return /\bassets\/index-[\w-]+\.js\b/.exec(page)?.[0];
}
