/** A file that was dropped on any page, until the page of bundles has taken it. */
let dropped: File | undefined;
const listeners = new Set<() => void>();

/** Here, because every page loads this module, and those that read bundles are loaded later. */
export function isBundleName(name: string): boolean {
  return /\.json(?:\.gz)?$/i.test(name);
}

export function putDropped(file: File): void {
  dropped = file;
  for (const listener of listeners) listener();
}

export function takeDropped(): File | undefined {
  const file = dropped;
  dropped = undefined;
  return file;
}

/** Calls `listener` when a file was dropped; returns a function that removes it. */
export function onDropped(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
