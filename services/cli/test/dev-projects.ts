/**
 * Small projects in the layout of each language, as a user has them before Perdure comes: a service `Greeter` whose handler `greet` greets
 * in a step, on the port `PORT` or 9080. Versions of SDKs are those of the tutorials and of `make test-sdks`.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@perdure/dev-cluster";

export interface DevProject {
  readonly language: string;
  readonly files: Readonly<Record<string, string>>;
  /** File with the word "Hello", in which tests put another one. */
  readonly source: string;
  /** The command that `perdure dev` must find. */
  readonly command: string;
  /** Whether the command restarts the service by itself. */
  readonly reloads?: true;
  /** Environment variables of the language's tools, whose caches are not in the home folder of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the user has done before: installed packages, compiled dependencies. */
  prepare(folder: string): Promise<void>;
}

const CACHE = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "perdure/dev-projects");
const TOOL_MS_MAX = 900_000;
/** Published programs that a machine may lack; npm and pip fetch them into the cache. */
const DENO_VERSION = "2.9.6";
const UV_VERSION = "0.13.9";
const TSX_VERSION = "4.23.15";

const tracked = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const SDK = /"@restatedev\/restate-sdk": "([^"]+)"/.exec(tracked("deploy/examples/tutorial-typescript/package.json"))?.[1] ?? "";
const REQUIREMENTS = tracked("deploy/examples/tutorial-python/requirements.txt");

async function run(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
  await promisify(execFile)(command, args, {
    cwd,
    env: { ...process.env, ...env },
    timeout: TOOL_MS_MAX,
    maxBuffer: 16 * 1024 * 1024,
  });
}

const npmInstall = (folder: string, ...packages: readonly string[]): Promise<void> =>
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error", ...packages], folder);

// ── TypeScript, Deno ─────────────────────────────────────────────────────────────────────────────

const greeterInTypeScript = (port: string): string => `import * as restate from "@restatedev/restate-sdk";

const greeter = restate.service({
  name: "Greeter",
  handlers: {
    greet: async (ctx: restate.Context, name: string): Promise<string> => {
      const greeting = await ctx.run("greet", () => "Hello");
      return \`\${greeting} \${name}\`;
    },
  },
});

restate.serve({ services: [greeter], port: Number(${port} ?? 9080) });
`;

const typescript: DevProject = {
  language: "TypeScript",
  files: {
    "package.json": JSON.stringify({
      name: "greeter",
      type: "module",
      scripts: { build: "tsc", dev: "tsx watch ./src/app.ts" },
      dependencies: { "@restatedev/restate-sdk": SDK },
      devDependencies: { tsx: TSX_VERSION },
    }),
    "src/app.ts": greeterInTypeScript("process.env.PORT"),
  },
  source: "src/app.ts",
  command: "npm run --silent dev",
  reloads: true,
  prepare: (folder) => npmInstall(folder),
};

const DENO = join(CACHE, `deno-${DENO_VERSION}`);
const deno: DevProject = {
  language: "Deno",
  files: {
    "deno.json": JSON.stringify({
      imports: { "@restatedev/restate-sdk": `npm:@restatedev/restate-sdk@${SDK}` },
      tasks: { dev: "deno run --allow-net --allow-env --watch main.ts" },
    }),
    "main.ts": greeterInTypeScript('Deno.env.get("PORT")'),
  },
  source: "main.ts",
  command: "deno task dev",
  reloads: true,
  env: { DENO_DIR: join(CACHE, "deno-cache"), DENO_TLS_CA_STORE: "system", PATH: `${DENO}/node_modules/.bin` },
  async prepare(folder) {
    mkdirSync(DENO, { recursive: true });
    await npmInstall(DENO, "--prefix", DENO, `deno@${DENO_VERSION}`);
    await run(join(DENO, "node_modules/.bin/deno"), ["install"], folder, { DENO_DIR: this.env?.["DENO_DIR"] });
  },
};

// ── Python ───────────────────────────────────────────────────────────────────────────────────────

const GREETER_IN_PYTHON = `import asyncio
import os

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config

greeter = restate.Service("Greeter")


@greeter.handler()
async def greet(ctx: restate.Context, name: str) -> str:
    greeting = await ctx.run_typed("greet", lambda: "Hello")
    return f"{greeting} {name}"


if __name__ == "__main__":
    config = Config()
    config.bind = [f"127.0.0.1:{os.environ.get('PORT', '9080')}"]
    asyncio.run(serve(restate.app([greeter]), config))
`;

const python: DevProject = {
  language: "Python with a virtual environment",
  files: { "requirements.txt": REQUIREMENTS, "main.py": GREETER_IN_PYTHON },
  source: "main.py",
  command: ".venv/bin/python main.py",
  async prepare(folder) {
    await run("python3", ["-m", "venv", ".venv"], folder);
    await run(join(folder, ".venv/bin/pip"), ["install", "--quiet", "--requirement", "requirements.txt"], folder);
  },
};

const UV = join(CACHE, `uv-${UV_VERSION}`);
const requirementsOfProject = REQUIREMENTS.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
const pythonWithUv: DevProject = {
  language: "Python with pyproject.toml and uv",
  files: {
    "pyproject.toml": `[project]
name = "greeter"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ${JSON.stringify(requirementsOfProject)}
`,
    "__main__.py": GREETER_IN_PYTHON,
  },
  source: "__main__.py",
  command: "uv run .",
  env: { UV_CACHE_DIR: join(CACHE, "uv-cache"), UV_SYSTEM_CERTS: "1", PATH: `${UV}/bin` },
  async prepare(folder) {
    await run("python3", ["-m", "venv", UV], homedir());
    await run(join(UV, "bin/pip"), ["install", "--quiet", `uv==${UV_VERSION}`], homedir());
    await run(join(UV, "bin/uv"), ["sync", "--quiet"], folder, { ...this.env, PATH: process.env["PATH"] });
  },
};

// ── Go, Java, Rust ───────────────────────────────────────────────────────────────────────────────

const go: DevProject = {
  language: "Go",
  files: {
    "go.mod": tracked("deploy/examples/tutorial-go/go.mod"),
    "go.sum": tracked("deploy/examples/tutorial-go/go.sum"),
    "main.go": `package main

import (
	"cmp"
	"context"
	"log"
	"os"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"
)

func greet(ctx restate.Context, name string) (string, error) {
	greeting, err := restate.Run(ctx, func(restate.RunContext) (string, error) { return "Hello", nil }, restate.WithName("greet"))
	if err != nil {
		return "", err
	}
	return greeting + " " + name, nil
}

func main() {
	greeter := restate.NewService("Greeter").Handler("greet", restate.NewServiceHandler(greet))
	address := "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "9080")
	if err := server.NewRestate().Bind(greeter).Start(context.Background(), address); err != nil {
		log.Fatal(err)
	}
}
`,
  },
  source: "main.go",
  command: "go run .",
  env: {
    GOPATH: process.env["GOPATH"] ?? join(homedir(), "go"),
    GOCACHE: process.env["GOCACHE"] ?? join(homedir(), ".cache/go-build"),
    GOENV: join(homedir(), ".config/go/env"),
    GOFLAGS: "-buildvcs=false",
  },
  prepare(folder) {
    return run("go", ["build", "-o", join(folder, ".built"), "."], folder, this.env);
  },
};

/** The tutorial's build file, with the plugin of Maven that runs programs. */
const POM = tracked("deploy/examples/tutorial-java/pom.xml").replace(
  "    </plugins>",
  `      <plugin>
        <groupId>org.codehaus.mojo</groupId>
        <artifactId>exec-maven-plugin</artifactId>
        <version>3.5.1</version>
        <configuration>
          <mainClass>greeter.Main</mainClass>
        </configuration>
      </plugin>
    </plugins>`,
);

const java: DevProject = {
  language: "Java with Maven",
  files: {
    "pom.xml": POM,
    "src/main/java/greeter/Greeter.java": `package greeter;

import dev.restate.sdk.Context;
import dev.restate.sdk.annotation.Handler;
import dev.restate.sdk.annotation.Service;

@Service
public class Greeter {
  @Handler
  public String greet(Context ctx, String name) {
    return ctx.run("greet", String.class, () -> "Hello") + " " + name;
  }
}
`,
    "src/main/java/greeter/Main.java": `package greeter;

import dev.restate.sdk.endpoint.Endpoint;
import dev.restate.sdk.http.vertx.RestateHttpServer;

public final class Main {
  public static void main(String[] args) {
    int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "9080"));
    RestateHttpServer.listen(Endpoint.bind(new Greeter()), port);
  }
}
`,
  },
  source: "src/main/java/greeter/Greeter.java",
  command: "mvn -q compile exec:java",
  prepare: (folder) => run("mvn", ["--quiet", "--batch-mode", "compile"], folder),
};

const rust: DevProject = {
  language: "Rust",
  files: {
    "Cargo.toml": tracked("libs/testing/conformance/sdks/rust/Cargo.toml"),
    "Cargo.lock": tracked("libs/testing/conformance/sdks/rust/Cargo.lock"),
    "src/main.rs": `use restate_sdk::prelude::*;

struct Greeter;

#[service]
impl Greeter {
    #[handler]
    async fn greet(&self, ctx: Context<'_>, name: String) -> HandlerResult<String> {
        let greeting: String = ctx.run(|| async { Ok("Hello".to_owned()) }).name("greet").await?;
        Ok(format!("{greeting} {name}"))
    }
}

#[tokio::main]
async fn main() {
    let port = std::env::var("PORT").unwrap_or("9080".to_owned());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
    HttpServer::new(Endpoint::builder().bind(Greeter).build()).serve(listener).await;
}
`,
  },
  source: "src/main.rs",
  command: "cargo run",
  env: {
    CARGO_HOME: process.env["CARGO_HOME"] ?? join(homedir(), ".cargo"),
    RUSTUP_HOME: process.env["RUSTUP_HOME"] ?? join(homedir(), ".rustup"),
    CARGO_TARGET_DIR: join(CACHE, "rust"),
  },
  prepare(folder) {
    return run("cargo", ["build", "--quiet", "--locked"], folder, this.env);
  },
};

export const DEV_PROJECTS: readonly DevProject[] = [typescript, deno, python, pythonWithUv, go, java, rust];
