/** Partitions with scripted answers that record the commands they received. */
import type { InvocationId } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { CommandAnswer, Invocation, Invoke, PartitionCommand } from "@perdure/state-machine";

type Submitted = Exclude<PartitionCommand, Invoke>;

export interface ScriptedPartitions extends Partitions {
  /** Commands in the order of arrival. */
  readonly commands: Submitted[];
  /** Answers by invocation; ids without an answer are `notFound`. */
  readonly answers: Map<string, CommandAnswer | Error>;
  /** Answers of `describe`. */
  readonly invocations: Map<string, Invocation>;
}

export function createScriptedPartitions(): ScriptedPartitions {
  const commands: Submitted[] = [];
  const answers = new Map<string, CommandAnswer | Error>();
  const invocations = new Map<string, Invocation>();
  const unused = (): never => {
    throw new Error("the management API has no business with this method");
  };
  return {
    commands,
    answers,
    invocations,
    invoke: unused,
    attach: unused,
    output: unused,
    describe: async (id: InvocationId) => invocations.get(id),
    async submit(command) {
      commands.push(command);
      const answer = answers.get(command.id) ?? answers.get(command.kind) ?? { kind: "notFound" };
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}
