import { symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "@jest/globals";
import { onPath } from "./programs.js";
import { dataDirectory } from "./temporary.js";

test("a program that is a link to another is called by the requested name", async () => {
  const directory = await dataDirectory("programs", undefined);
  writeFileSync(join(directory.path, "check-files"), "");
  symlinkSync("check-files", join(directory.path, "the-server"));
  const path = process.env["PATH"];
  process.env["PATH"] = ["", join(directory.path, "absent"), directory.path].join(delimiter);
  try {
    expect(onPath("the-server")).toBe(join(directory.path, "the-server"));
    expect(onPath("nothing")).toBeUndefined();
  } finally {
    process.env["PATH"] = path;
    await directory.remove();
  }
});
