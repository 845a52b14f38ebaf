import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { aliasOf, PROGRAMS } from "./programs.js";

/** Why: the package and the checkout start the same programs with the same options. */
test("the script of the project starts every program as the package does", () => {
  const script = readFileSync(new URL("../../../perdure", import.meta.url), "utf8");
  for (const [name, { service, nodeOptions, expectsName }] of Object.entries(PROGRAMS)) {
    const alias = aliasOf(name);
    const label = alias === undefined ? name : `${name} | ${alias}`;
    const [, found] = new RegExp(`^ {2}${label.replace("|", "\\|")}\\)([^;]*);;`, "m").exec(script) ?? [];
    const [, options = ""] = /options='([^']*)'/.exec(found ?? "") ?? [];
    expect([name, /service=([\w-]+)/.exec(found ?? "")?.[1], options]).toEqual([name, service, nodeOptions.join(" ")]);
    expect([name, /^ {4}standalone \| test-environment\) ;;/m.test(script) && /standalone|test-env/.test(service)]).toEqual([
      name,
      expectsName,
    ]);
  }
});

/** Why: `--help`, and what errors advise, are commands to paste, and no package contains a `perdure-worker`. */
test("each role names itself by the command that starts it", () => {
  const roles = Object.entries(PROGRAMS).flatMap(([name, { service }]) => {
    const file = new URL(`../../${service}/src/process/program.ts`, import.meta.url);
    return existsSync(file) ? [[name, readFileSync(file, "utf8")] as const] : [];
  });
  expect(roles.length).toBeGreaterThan(8);
  for (const [name, source] of roles) expect([name, /program: "(.*)",/.exec(source)?.[1]]).toEqual([name, `perdure ${name}`]);
});

test("images start their programs with the same options", () => {
  const images = readFileSync(new URL("../../../deploy/images/Dockerfile", import.meta.url), "utf8");
  const starts = images.split("\n").filter((line) => line.startsWith("ENTRYPOINT"));
  const found = Object.values(PROGRAMS).flatMap(({ service, nodeOptions }) => {
    const start = starts.find((line) => line.includes(`/${service}/`));
    return start === undefined ? [] : [{ service, nodeOptions, options: start.match(/--[\w-]+(?:=\w+)?/g) ?? [] }];
  });
  expect(found.length).toBeGreaterThan(5);
  for (const { service, nodeOptions, options } of found) expect([service, options]).toEqual([service, nodeOptions]);
});
