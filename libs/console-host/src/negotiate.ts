/** Why: which of the forms a file was built in suits the caller (RFC 9110 §12.5.3), and whether they have it already (§13.1.2). */
import type { EncodedFile } from "./built-console.js";
import { HEADER_CHARS_MAX } from "./limits.js";

/**
 * Of `forms`, best first, the one with the greatest weight; equal weights leave the order. Identity is what there is for who accepts
 * nothing of it: an answer that can be read by most beats none (§12.5.3 allows it).
 */
export function formFor(forms: readonly EncodedFile[], acceptEncoding: string | undefined): EncodedFile {
  const weights = weightsOf(acceptEncoding ?? "");
  const identity = forms.at(-1) as EncodedFile;
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

/** Coding → weight in 0…1; what cannot be read is not wished for. */
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
