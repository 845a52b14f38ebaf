/** Runs the services of the example as a process beside the demo, which reads the steps from its output. */
import { join } from "node:path";
import { ChildProgram } from "@perdure/processes/child-program";

interface GreeterProgramOptions {
  /** Root directory of the repository. */
  readonly root: string;
  readonly port: number;
  readonly onLine?: (line: string) => void;
}

/** Resolves when the process runs. */
export function startGreeter({ root, port, onLine = () => undefined }: GreeterProgramOptions): Promise<ChildProgram> {
  return ChildProgram.start({
    name: "the greeter",
    command: process.execPath,
    args: [join(root, "deploy/examples/greeter/src/main.ts")],
    cwd: root,
    env: { ...process.env, PORT: String(port), RESTATE_LOGGING: "ERROR" },
    onLine,
  });
}

/** Resolves when the greeter listens; rejects with its last lines when it ends instead. */
export async function greeterListens(program: ChildProgram): Promise<void> {
  await program.ready(() => program.lines.some((line) => line.startsWith("listening")));
}
