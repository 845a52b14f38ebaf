/** The places of the version, compared with this tree. It is read without Git, because tests also run on an exported tree. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { imagesOf } from "../src/release.ts";
import { replaceVersion, VERSION_PLACES } from "../src/version-places.ts";

const PROJECT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");

const NOT_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "testdata"]);

/** Paths below a folder of the project, relative to it. */
function filesBelow(folder: string): string[] {
  return readdirSync(join(PROJECT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_SOURCES.has(entry.name) ? [] : filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

describe("the version of this project", () => {
  const files = ["charts", "deploy", "docs", "libs", "services"].flatMap(filesBelow).concat("Makefile", "package.json");
  const { version } = JSON.parse(readFileSync(join(PROJECT, "package.json"), "utf8")) as { version: string };

  test.each(VERSION_PLACES.map(({ what, ...place }) => [what, place] as const))("is found in %s", (_, place) => {
    const texts = files.filter((path) => place.paths.test(path)).map((path) => readFileSync(join(PROJECT, path), "utf8"));
    expect(texts.filter((text) => place.pattern(version).test(text)).length).toBeGreaterThan(0);
  });

  test("is replaced in every package and chart", () => {
    const ofReleases = files.filter((path) => /(?:^|\/)(?:package\.json|Chart\.yaml)$/.test(path));
    const left = ofReleases.filter(
      (path) => replaceVersion(path, readFileSync(join(PROJECT, path), "utf8"), version, "9.9.9").count === 0,
    );
    expect(left).toEqual([]);
  });

  test("belongs to the images that the script builds", () => {
    expect(imagesOf(PROJECT)).toEqual(expect.arrayContaining(["server", "worker", "operator"]));
  });
});
