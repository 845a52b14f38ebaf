/**
 * The software bill of materials of a bundle, as CycloneDX 1.6 in JSON: the third-party packages that it contains, or needs beside it, with
 * their versions, licences and the digests of the lock file. It lists the same packages as the notices. It is the same in two builds of one
 * tree: it has no serial number and no time.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import { PackageURL } from "packageurl-js";

export const SBOM = "sbom.cdx.json";

const ROOT = join(import.meta.dirname, "..");
/** An entry of the lock file: name and version of a package, and its digest. */
const LOCKED = /^ {2}'?((?:@[^/\s']+\/)?[^@\s']+@[^:\s']+)'?:\n {4}resolution: \{integrity: sha512-([A-Za-z0-9+/=]+)/gm;

/** `packages`: as `shippedPackages` has them. `program`: what they are in. */
export function sbomOf(packages, program) {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const bom = new Models.Bom();
  bom.metadata.component = new Models.Component(Enums.ComponentType.Application, program, {
    bomRef: `${program}@${version}`,
    version,
    licenses: licencesOf("Apache-2.0"),
  });
  for (const one of packages) {
    const component = componentOf(one);
    bom.components.add(component);
    bom.metadata.component.dependencies.add(component.bomRef);
  }
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  return `${serializer.serialize(bom, { sortLists: true, space: 1 })}\n`;
}

function componentOf({ name, version, licence }) {
  const [group, base] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const purl = new PackageURL("npm", group, base, version, undefined, undefined).toString();
  const digest = lockedDigests().get(`${name}@${version}`);
  return new Models.Component(Enums.ComponentType.Library, base, {
    bomRef: purl,
    purl,
    group,
    version,
    licenses: licencesOf(licence),
    hashes: new Models.HashDictionary(digest === undefined ? [] : [[Enums.HashAlgorithm["SHA-512"], digest]]),
  });
}

function licencesOf(expression) {
  return new Models.LicenseRepository([new Models.LicenseExpression(expression)]);
}

let digests;

/** SHA-512 of the package as it was published, in hexadecimal digits, by `name@version`. */
export function lockedDigests() {
  if (digests !== undefined) return digests;
  const path = join(ROOT, "pnpm-lock.yaml");
  const entries = existsSync(path) ? readFileSync(path, "utf8").matchAll(LOCKED) : [];
  digests = new Map([...entries].map(([, id, digest]) => [id, Buffer.from(digest, "base64").toString("hex")]));
  return digests;
}
