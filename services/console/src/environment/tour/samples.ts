/**
 * A first service in every language that has an SDK: one handler that greets, and one that takes a while. Each sample was run as it is
 * here.
 */
import go from "./samples/go.txt?raw";
import java from "./samples/java.txt?raw";
import javaPom from "./samples/java-pom.txt?raw";
import python from "./samples/python.txt?raw";
import rust from "./samples/rust.txt?raw";
import typescript from "./samples/typescript.txt?raw";

interface SampleFile {
  readonly name: string;
  readonly text: string;
}

interface Sample {
  readonly value: SampleLanguage;
  readonly label: string;
  /** Programs that must be installed. */
  readonly needs: string;
  /** Commands in an empty folder, before the files are written. */
  readonly prepare: string;
  readonly files: readonly SampleFile[];
  /** Starts it at port 9080, which it listens on until it is stopped. */
  readonly start: string;
}

const SAMPLE_LANGUAGES = ["typescript", "python", "java", "go", "rust"] as const;
type SampleLanguage = (typeof SAMPLE_LANGUAGES)[number];

export const SAMPLES: readonly Sample[] = [
  {
    value: "typescript",
    label: "TypeScript",
    needs: "Node 22.18 or later",
    prepare: "npm init -y\nnpm pkg set type=module\nnpm install @restatedev/restate-sdk",
    files: [{ name: "greeter.ts", text: typescript }],
    start: "node greeter.ts",
  },
  {
    value: "python",
    label: "Python",
    needs: "Python 3.10 or later",
    prepare: "python3 -m venv .venv\n.venv/bin/pip install restate-sdk hypercorn",
    files: [{ name: "greeter.py", text: python }],
    start: ".venv/bin/hypercorn --bind localhost:9080 greeter:app",
  },
  {
    value: "java",
    label: "Java",
    needs: "Java 17 or later, and Maven",
    prepare: "mkdir -p src/main/java",
    files: [
      { name: "pom.xml", text: javaPom },
      { name: "src/main/java/Greeter.java", text: java },
    ],
    start: "mvn compile exec:java -Dexec.mainClass=Greeter",
  },
  {
    value: "go",
    label: "Go",
    needs: "Go 1.25 or later",
    prepare: "go mod init greeter\ngo get github.com/restatedev/sdk-go@v1.2.0",
    files: [{ name: "main.go", text: go }],
    start: "go mod tidy && go run .",
  },
  {
    value: "rust",
    label: "Rust",
    needs: "Rust 1.90 or later",
    prepare: "cargo init --name greeter\ncargo add restate-sdk@0.13\ncargo add tokio --features macros,rt-multi-thread,time",
    files: [{ name: "src/main.rs", text: rust }],
    start: "cargo run",
  },
];
