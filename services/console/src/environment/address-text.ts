/** Addresses as texts. Pure. */

/** The search with some parameters changed; undefined or empty takes one away. Begins with `?` unless nothing is left. */
export function changedSearch(search: string, changes: Readonly<Record<string, string | undefined>>): string {
  const parameters = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") parameters.delete(name);
    else parameters.set(name, value);
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}

/** The last parts of a path, decoded; invalid encodings stay as they are. */
export function lastSegments(path: string, count: number): readonly string[] {
  return path.split("/").slice(-count).map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    if (cause instanceof URIError) return part;
    throw cause;
  }
}
