/** Parts of planted bugs: the modules that they change, and their form. */
export const partition = (path) => `libs/core/state-machine/src/${path}`;
export const processor = (path) => `libs/engine/partition-processor/src/${path}`;
export const invoker = (path) => `libs/engine/invoker/src/${path}`;
export const flow = (path) => `libs/core/flow-control/src/${path}`;
/** The store of all worlds. */
export const stored = "libs/ports/storage/src/kv/kv-partition-store.ts";

/** `edits`: file, text to find, text in its place. */
export function plant(name, what, world, ...edits) {
  return { name, what, world, edits: edits.map(([file, find, replacement]) => ({ file, find, replacement })) };
}
