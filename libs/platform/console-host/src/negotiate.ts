/** Selects the encoding of a file that suits the client (RFC 9110 §12.5.3), and whether the client has the file already (§13.1.2). */
import { present } from "@perdure/base";
import type { EncodedFile } from "./built-console.js";
import { HEADER_CHARS_MAX } from "./limits.js";

/**
 * Returns the one of `forms` (best first) with the greatest weight; equal weights keep the order. When the client accepts none, the result
 * is identity: an answer that most clients can read is better than none (§12.5.3 allows it).
 */
export function formFor(forms: readonly EncodedFile[], acceptEncoding: string | undefined): EncodedFile {
  const weights = weightsOf(acceptEncoding ?? "");
  const identity = present(forms.at(-1));
  let best = identity;
  let bestWeight = weights.get("identity") ?? 0;
  for (const form of forms) {
    if (form === identity) continue;
    const weight = weights.get(form.encoding) ?? weights.get("*") ?? 0;
    if (weight > bestWeight || (best === identity && weight > 0 && weight >= bestWeight)) {
      best = form;
      bestWeight = weight;
    }
  }
  return best;
}

/** Coding → weight in 0…1; a coding with an invalid weight is left out. */
function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.slice(0, HEADER_CHARS_MAX).split(",")) {
    const [, name, quality] = /^\s*([\w*-]+)\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/i.exec(part) ?? [];
    if (name !== undefined) weights.set(name.toLowerCase(), quality === undefined ? 1 : Math.min(1, Number(quality)));
  }
  return weights;
}

/** Whether an `if-none-match` names `etag`; compared weakly, as it has to be. */
export function names(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch
    .slice(0, HEADER_CHARS_MAX)
    .split(",")
    .some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === etag);
}
