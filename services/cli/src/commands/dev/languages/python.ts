/** Python: uv or Poetry where the project uses one, else the interpreter of its virtual environment. */
import { PYTHON } from "./reload.js";
import { type Has, type StartCommand, startCommand } from "./start-command.js";

const MAIN_FILES = ["main.py", "app.py", "service.py", "example.py", "src/main.py", "src/app.py"];
const ENVIRONMENTS = [".venv/bin/python", "venv/bin/python"];

/** Undefined when the folder has no main file with a usual name. */
export function pythonStart(has: Has): StartCommand | undefined {
  const main = has("__main__.py") ? "__main__.py" : MAIN_FILES.find(has);
  if (main === undefined) return undefined;
  const target = main === "__main__.py" ? "." : main;
  const manifest = ["uv.lock", "poetry.lock", "pyproject.toml"].find(has);
  if (manifest === "poetry.lock")
    return startCommand("poetry", ["run", "python", target], `${manifest} and ${main}`, true, PYTHON);
  if (manifest !== undefined) return startCommand("uv", ["run", target], `${manifest} and ${main}`, true, PYTHON);
  const environment = ENVIRONMENTS.find(has);
  const isCertain = environment !== undefined || has("requirements.txt");
  const because = environment === undefined ? main : `${environment} and ${main}`;
  return startCommand(environment ?? "python3", [target], because, isCertain, PYTHON);
}
