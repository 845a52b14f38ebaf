import { readFileSync } from "node:fs";
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
