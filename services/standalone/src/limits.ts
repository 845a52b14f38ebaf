/** Why: the bounds of this process, each with its reason. */

/** How often what is stored is compared with its limit: by what a disk writes in this time the limit may be exceeded. */
export const STORAGE_CHECK_MS = 1_000;
/** Once full, writes are taken again below this part of the limit, so that doors do not open and close with every invocation. */
export const STORAGE_FREE_SHARE = 0.95;
/** Beyond this part of the limit handlers no longer run: until then what runs may end. */
export const STORAGE_HELD_SHARE = 1.1;
/** While full, deleted data is compacted away this often at most: it reads and writes all that is stored. */
export const STORAGE_COMPACT_EVERY_MS = 60_000;
/** An attempt that was broken off asks for a slot again after this. */
export const STORAGE_HELD_RETRY_MS = 1_000;
