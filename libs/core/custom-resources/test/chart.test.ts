import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { stringify } from "yaml";
import { type CustomResourceDefinition, definitions } from "../src/index.js";

const TEMPLATES = fileURLToPath(new URL("../../../../charts/perdure-crds/templates/", import.meta.url));
const HEAD = "# Made of libs/core/custom-resources by `make charts`; a test holds the two equal.\n";

const fileOf = ({ spec }: CustomResourceDefinition): string => `${String(spec.names["plural"])}.yaml`;
const textOf = (definition: CustomResourceDefinition): string =>
  HEAD + stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false });

test("the chart's templates are the definitions", () => {
  if (process.env["PERDURE_WRITE_CHARTS"] === "1") {
    for (const definition of definitions) writeFileSync(TEMPLATES + fileOf(definition), textOf(definition));
  }
  expect(readdirSync(TEMPLATES).sort()).toEqual(definitions.map(fileOf).sort());
  for (const definition of definitions) expect(readFileSync(TEMPLATES + fileOf(definition), "utf8")).toBe(textOf(definition));
});

test("no text in them is something to a template engine", () => {
  for (const definition of definitions) expect(textOf(definition)).not.toMatch(/\{\{|\}\}/);
});
