/** Every server keeps its data in a directory of its own, which is removed with it unless the caller gave one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface DataDirectory {
  readonly path: string;
  remove(): Promise<void>;
}

/** `given` is used as it is and never removed. */
export async function dataDirectory(kind: string, given: string | undefined): Promise<DataDirectory> {
  if (given !== undefined) return { path: given, remove: async () => {} };
  const path = await mkdtemp(join(tmpdir(), `perdure-${kind}-`));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
