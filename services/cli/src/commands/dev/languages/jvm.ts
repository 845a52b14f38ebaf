/** Java and Kotlin: the goal or task that starts the service is that of a plugin in the build file. */
import { JVM, watchesFiles } from "./reload.js";
import { type Has, type ReadFile, type StartCommand, startCommand } from "./start-command.js";

interface Plugin {
  readonly name: string;
  readonly isIn: RegExp;
  readonly args: readonly string[];
}

/** In the order of preference: a project with Quarkus or Spring Boot has its main class in the framework. */
const MAVEN: readonly Plugin[] = [
  { name: "quarkus-maven-plugin", isIn: /<artifactId>\s*quarkus-maven-plugin\s*</, args: ["-q", "quarkus:dev"] },
  { name: "spring-boot-maven-plugin", isIn: /<artifactId>\s*spring-boot-maven-plugin\s*</, args: ["-q", "spring-boot:run"] },
  {
    name: "exec-maven-plugin",
    isIn: /<artifactId>\s*exec-maven-plugin\s*<(?:(?!<\/plugin>)[\s\S])*<executable>/,
    args: ["-q", "compile", "exec:exec"],
  },
  { name: "exec-maven-plugin", isIn: /<artifactId>\s*exec-maven-plugin\s*</, args: ["-q", "compile", "exec:java"] },
];
const GRADLE: readonly Plugin[] = [
  { name: "plugin io.quarkus", isIn: /["']io\.quarkus["']|plugins\.quarkus/, args: ["quarkusDev"] },
  {
    name: "plugin org.springframework.boot",
    isIn: /["']org\.springframework\.boot["']|plugins\.spring\.?boot/i,
    args: ["bootRun"],
  },
  { name: "plugin application", isIn: /^\s*application\s*(?:$|\{)|id\s*\(?\s*["']application["']/m, args: ["run"] },
];

/** Undefined when the folder has no build file of Gradle or Maven. */
export function jvmStart(has: Has, read: ReadFile): StartCommand | undefined {
  const gradle = ["build.gradle.kts", "build.gradle"].find(has);
  if (gradle !== undefined)
    return byPlugin(gradle, read(gradle), GRADLE, ["run"], has("gradlew") ? "./gradlew" : "gradle", ["--console=plain"]);
  if (has("pom.xml"))
    return byPlugin("pom.xml", read("pom.xml"), MAVEN, ["-q", "compile", "exec:java"], has("mvnw") ? "./mvnw" : "mvn", []);
  return undefined;
}

/** Without a known plugin the usual command is only advice. */
function byPlugin(
  file: string,
  text: string,
  plugins: readonly Plugin[],
  usual: readonly string[],
  command: string,
  flags: readonly string[],
): StartCommand {
  const plugin = plugins.find(({ isIn }) => isIn.test(text));
  const args = [...(plugin?.args ?? usual), ...flags];
  const because = plugin === undefined ? file : `${plugin.name} in ${file}`;
  return startCommand(command, args, because, plugin !== undefined, watchesFiles(args.join(" ")) ? [] : JVM);
}
