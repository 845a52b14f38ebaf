import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { startGiven, startOf, startText } from "../project.js";
import { ofProgram, ofScript } from "./reload.js";

type Files = Readonly<Record<string, string>>;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-languages-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const scripts = (entries: Files): string => JSON.stringify({ scripts: entries });
const plugin = (name: string): string => `<plugin><artifactId>${name}</artifactId></plugin>`;
const JS = expect.arrayContaining([".ts", ".js"]);
const JVM = [".java", ".kt"];

interface Case {
  readonly title: string;
  readonly files: Files;
  readonly command: string;
  readonly isSuggested?: true;
  readonly restartsOn: unknown;
}

const TYPESCRIPT: readonly Case[] = [
  {
    title: "npm, whose script watches",
    files: { "package.json": scripts({ start: "node dist/app.js", dev: "tsx watch ./src/app.ts" }) },
    command: "npm run --silent dev",
    restartsOn: [],
  },
  {
    title: "npm, whose script does not watch",
    files: { "package.json": scripts({ dev: "node src/app.ts" }) },
    command: "npm run --silent dev",
    restartsOn: JS,
  },
  {
    title: "pnpm, whose script compiles first",
    files: { "package.json": scripts({ start: "npm run build && node dist/app.js", build: "tsc" }), "pnpm-lock.yaml": "" },
    command: "pnpm run start",
    restartsOn: [".ts", ".mts", ".cts", ".tsx"],
  },
  {
    title: "yarn, whose script runs one that watches",
    files: { "package.json": scripts({ dev: "yarn app-dev", "app-dev": "nodemon src/app.js" }), "yarn.lock": "" },
    command: "yarn run dev",
    restartsOn: [],
  },
  {
    title: "Bun",
    files: { "package.json": scripts({ dev: "bun run src/index.ts" }), "bun.lock": "" },
    command: "bun run dev",
    restartsOn: JS,
  },
  {
    title: "Next.js",
    files: { "package.json": scripts({ dev: "next dev --turbopack" }) },
    command: "npm run --silent dev",
    restartsOn: [],
  },
  {
    title: "Deno, whose task watches",
    files: { "deno.json": '{"tasks":{"dev":"deno run --watch main.ts"}}' },
    command: "deno task dev",
    restartsOn: [],
  },
  {
    title: "Deno with comments, whose task does not watch",
    files: {
      "deno.jsonc":
        '{\n// How it starts.\n"imports":{"a":"https://a.example/b"}, /* two\nlines */ "tasks":{"start":{"command":"deno run main.ts"},}}',
    },
    command: "deno task start",
    restartsOn: JS,
  },
  {
    title: "Deno without a task",
    files: { "deno.json": "{}", "main.ts": "" },
    command: "deno run --allow-net --allow-env --watch main.ts",
    restartsOn: [],
  },
];

const PYTHON: readonly Case[] = [
  {
    title: "uv and a lock file",
    files: { "pyproject.toml": "", "uv.lock": "", "app.py": "" },
    command: "uv run app.py",
    restartsOn: [".py"],
  },
  {
    title: "pyproject.toml and __main__.py",
    files: { "pyproject.toml": "", "__main__.py": "" },
    command: "uv run .",
    restartsOn: [".py"],
  },
  {
    title: "Poetry",
    files: { "pyproject.toml": "", "poetry.lock": "", "main.py": "" },
    command: "poetry run python main.py",
    restartsOn: [".py"],
  },
  {
    title: "a virtual environment",
    files: { ".venv/bin/python": "", "requirements.txt": "", "main.py": "" },
    command: ".venv/bin/python main.py",
    restartsOn: [".py"],
  },
  {
    title: "requirements.txt",
    files: { "main.py": "", "requirements.txt": "" },
    command: "python3 main.py",
    restartsOn: [".py"],
  },
  { title: "a lone main.py", files: { "main.py": "" }, command: "python3 main.py", isSuggested: true, restartsOn: [".py"] },
];

const COMPILED: readonly Case[] = [
  { title: "Go and main.go", files: { "go.mod": "", "main.go": "" }, command: "go run .", restartsOn: [".go"] },
  {
    title: "Go and a program in another file",
    files: { "go.mod": "", "greeter.go": "// A greeter.\npackage main\n" },
    command: "go run .",
    restartsOn: [".go"],
  },
  {
    title: "Go and one program below cmd",
    files: { "go.mod": "", "lib.go": "package lib\n", "cmd/greeter/main.go": "" },
    command: "go run ./cmd/greeter",
    restartsOn: [".go"],
  },
  { title: "Rust", files: { "Cargo.toml": "" }, command: "cargo run", restartsOn: [".rs"] },
  {
    title: "Gradle and the plugin application",
    files: { "build.gradle.kts": "plugins {\n  java\n  application\n}\n", gradlew: "" },
    command: "./gradlew run --console=plain",
    restartsOn: JVM,
  },
  {
    title: "Gradle and Spring Boot",
    files: { "build.gradle": "plugins { id 'org.springframework.boot' version '3.5.0' }" },
    command: "gradle bootRun --console=plain",
    restartsOn: JVM,
  },
  {
    title: "Gradle and Quarkus, which reloads by itself",
    files: { "build.gradle": "plugins { id 'io.quarkus' }" },
    command: "gradle quarkusDev --console=plain",
    restartsOn: [],
  },
  {
    title: "Gradle without a plugin that starts programs",
    files: { "build.gradle": "plugins { id 'java' }" },
    command: "gradle run --console=plain",
    isSuggested: true,
    restartsOn: JVM,
  },
  {
    title: "Maven and the plugin exec",
    files: { "pom.xml": plugin("exec-maven-plugin"), mvnw: "" },
    command: "./mvnw -q compile exec:java",
    restartsOn: JVM,
  },
  {
    title: "Maven and the plugin exec, which runs Java in a process of its own",
    files: {
      "pom.xml":
        "<plugin><artifactId>exec-maven-plugin</artifactId><configuration><executable>java</executable></configuration></plugin>",
    },
    command: "mvn -q compile exec:exec",
    restartsOn: JVM,
  },
  {
    title: "Maven and Spring Boot",
    files: { "pom.xml": plugin("spring-boot-maven-plugin") },
    command: "mvn -q spring-boot:run",
    restartsOn: JVM,
  },
  {
    title: "Maven and Quarkus, which reloads by itself",
    files: { "pom.xml": plugin("quarkus-maven-plugin") },
    command: "mvn -q quarkus:dev",
    restartsOn: [],
  },
  {
    title: "Maven without a plugin that starts programs",
    files: { "pom.xml": "<project/>" },
    command: "mvn -q compile exec:java",
    isSuggested: true,
    restartsOn: JVM,
  },
];

test.each([...TYPESCRIPT, ...PYTHON, ...COMPILED])("a project with $title is started by '$command'", (project) => {
  write(project.files);
  const start = startOf(folder);
  expect(start === undefined ? undefined : startText(start)).toBe(project.command);
  expect(start).toMatchObject({ isCertain: project.isSuggested !== true, restartsOn: project.restartsOn });
});

test.each([
  { title: "several programs below cmd", files: { "go.mod": "", "cmd/a/main.go": "", "cmd/b/main.go": "" } },
  { title: "Deno without a task and without main.ts", files: { "deno.json": "{}" } },
])("a project with $title is not started", ({ files }) => {
  write(files);
  expect(startOf(folder)).toBeUndefined();
});

describe("a command that the user gives is restarted after a change of", () => {
  test.each([
    ["python3 main.py", [".py"]],
    [".venv/bin/python3.12 main.py", [".py"]],
    ["uvicorn app:app --reload", []],
    ["go run ./cmd/a", [".go"]],
    ["node --watch src/main.ts", []],
    ["node --watch-path=src src/main.ts", []],
    ["node src/main.ts", JS],
    ["node dist/main.js", []],
    ["./mvnw compile exec:java", JVM],
    ["cargo run --bin greeter", [".rs"]],
    ["./serve.sh", []],
  ])("'%s': %j", (text, extensions) => {
    const [command = "", ...args] = text.split(" ");
    expect(ofProgram(command, args)).toEqual(extensions);
  });

  test("a script: what the script says", () => {
    write({ "package.json": scripts({ serve: "node src/app.ts", dev: "node --watch src/app.ts" }) });
    expect(startGiven(folder, "npm", ["run", "serve"]).restartsOn).toEqual(JS);
    expect(startGiven(folder, "npm", ["run", "dev"]).restartsOn).toEqual([]);
    expect(startGiven(folder, "npm", ["run", "other"]).restartsOn).toEqual([]);
  });
});

test("words that only contain the name of a watcher do not count", () => {
  expect(ofScript("node src/watchtower.ts")).toEqual(JS);
  expect(ofScript("node src/lib/next-order.ts")).toEqual(JS);
  expect(ofScript("node --env-file=.env src/main.ts")).toEqual(JS);
});
