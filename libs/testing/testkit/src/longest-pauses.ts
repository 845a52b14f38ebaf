/** A test of pauses between tries that moves a clock needs the longest pauses that can occur. */
import type { Random } from "@perdure/base";

/** Chance that always draws the largest number: each random pause is as long as its bound. Not for ids, which would all be equal. */
export const longestPauses: Random = {
  float: () => 1 - Number.EPSILON,
  uint32: () => 0xffff_ffff,
  bytes: (into) => void into.fill(0xff),
};
