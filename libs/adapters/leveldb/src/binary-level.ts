import type { ClassicLevel } from "classic-level";

/** A LevelDB whose keys are texts and whose values are bytes. */
export type BinaryLevel = ClassicLevel<string, Uint8Array>;
