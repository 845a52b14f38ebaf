/**
 * A registry on 127.0.0.1 for the packages of the scope `@perdure`, which are not published: package managers are configured to use it for
 * that scope alone. Everything else comes from the registry of the machine.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { TestListener } from "@perdure/conformance";

/** Yarn refuses versions that were published a short time ago. */
const PUBLISHED_AT = "2026-01-01T00:00:00.000Z";

export interface PublishedPackage {
  readonly manifest: { readonly name: string; readonly version: string };
  /** Undefined for a package of another platform, which is listed and never downloaded. */
  readonly tarball: string | undefined;
}

export interface ScopeRegistry extends AsyncDisposable {
  readonly url: string;
}

export async function startScopeRegistry(packages: readonly PublishedPackage[]): Promise<ScopeRegistry> {
  const documents = new Map<string, (url: string) => Promise<object>>();
  const tarballs = new Map<string, string>();
  for (const { manifest, tarball } of packages) {
    const file = tarball === undefined ? `${basename(manifest.name)}-${manifest.version}.tgz` : basename(tarball);
    if (tarball !== undefined) tarballs.set(`/-/${file}`, tarball);
    documents.set(manifest.name, async (url) => {
      const bytes = tarball === undefined ? Buffer.alloc(0) : await readFile(tarball);
      const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
      const shasum = createHash("sha1").update(bytes).digest("hex");
      const version = { ...manifest, dist: { tarball: `${url}/-/${file}`, integrity, shasum } };
      const latest = manifest.version;
      return { name: manifest.name, "dist-tags": { latest }, versions: { [latest]: version }, time: { [latest]: PUBLISHED_AT } };
    });
  }
  let url = "";
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/");
    const tarball = tarballs.get(path);
    const document = documents.get(path.slice(1));
    const body = tarball === undefined ? document?.(url).then((value) => JSON.stringify(value)) : readFile(tarball);
    if (body === undefined) {
      response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
      return;
    }
    body.then(
      (content) =>
        response.writeHead(200, { "content-type": tarball ? "application/octet-stream" : "application/json" }).end(content),
      () => response.destroy(),
    );
  });
  const listener = await TestListener.open(server, 0);
  url = `http://127.0.0.1:${listener.port}`;
  return { url, [Symbol.asyncDispose]: () => listener.close() };
}

/** The packages of the SQL engine for platforms that were not packed. */
export function unpackedPlatforms(names: readonly string[], version: string): readonly PublishedPackage[] {
  return names.map((name) => {
    const [os = "", cpu = "", libc] = name.slice("@perdure/sql-".length).split("-");
    const manifest = { name, version, os: [os], cpu: [cpu], ...(os === "linux" ? { libc: [libc ?? "glibc"] } : {}) };
    return { manifest, tarball: undefined };
  });
}

/** Tarballs of `make packages` below `folder`, by the name of the package. */
export const tarballOf = (folder: string, name: string, version: string): string =>
  join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
