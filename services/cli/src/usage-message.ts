/** What is wrong with flags and arguments, named as this command line names them. */
import type { CommanderError } from "commander";

/** The library writes "command-argument value 'x' is invalid for argument 'id'. …" and "option '-l, --limit <n>' argument 'x' is invalid. …". */
export function usageMessage({ message }: CommanderError): string {
  return message
    .replace(/^error: /, "")
    .replace(/^command-argument value ('.*') is invalid for argument '(.+?)'\. /, "$1 is not valid as '$2'. ")
    .replace(/^option '(?:-\w, )?(--[\w-]+)[^']*' argument ('.*') is invalid\. /, "$2 is not valid for $1. ");
}
