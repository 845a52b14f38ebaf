/**
 * The allowed transitions between releases: minor versions are not skipped, and one step back is allowed while no newer feature was used.
 */
import { present } from "@perdure/base";

type VersionEdge = { readonly kind: "allowed" } | { readonly kind: "refused"; readonly reason: "VersionSkip" | "Downgrade" };

const ALLOWED: VersionEdge = { kind: "allowed" };

/** `usesNewer`: stored data has features that the release before cannot read. */
export function versionEdge(current: string | undefined, target: string, usesNewer: boolean): VersionEdge {
  if (current === undefined) return ALLOWED;
  const [fromMajor = 0, fromMinor = 0] = numbersOf(current);
  const [toMajor = 0, toMinor = 0] = numbersOf(target);
  if (toMajor > fromMajor + 1 || (toMajor === fromMajor && toMinor > fromMinor + 1))
    return { kind: "refused", reason: "VersionSkip" };
  if (toMajor > fromMajor) return toMinor === 0 ? ALLOWED : { kind: "refused", reason: "VersionSkip" };
  const stepsBack = toMajor < fromMajor ? Number.POSITIVE_INFINITY : fromMinor - toMinor;
  if (stepsBack > 1 || (stepsBack === 1 && usesNewer)) return { kind: "refused", reason: "Downgrade" };
  return ALLOWED;
}

/** `1.4.0-rc.1` → 1, 4, 0. */
export function numbersOf(version: string): number[] {
  return present(version.split("-")[0]).split(".").map(Number);
}
