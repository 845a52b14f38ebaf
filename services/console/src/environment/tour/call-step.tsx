/** The first call: a handler, an argument that fits, an answer. */
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { Button, ChoiceField, ProblemNote, TextArea, TextField } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useChange } from "../request.js";
import { addressOf, type Callable, chosenOf } from "./handlers.js";
import type { TourState } from "./use-progress.js";

interface CallStepProps extends Pick<TourState, "progress" | "note"> {
  readonly callables: readonly Callable[];
}

export function CallStep({ callables, progress, note }: CallStepProps) {
  const [chosen, setChosen] = useState<string>();
  const callable = chosenOf(callables, [chosen, "Greeter/greet"]);
  if (callable === undefined) return <p className="quiet">No registered service is public.</p>;
  return (
    <>
      <div className="tour__choice">
        <ChoiceField
          label="Handler"
          value={callable.value}
          choices={callables.map(({ value }) => ({ value, label: value }))}
          onChange={setChosen}
        />
      </div>
      <Call key={callable.value} callable={callable} progress={progress} note={note} />
    </>
  );
}

function Call({ callable, progress, note }: { readonly callable: Callable } & Pick<TourState, "progress" | "note">) {
  const { forbidden } = useEnvironment();
  const [body, setBody] = useState(callable.example);
  const [key, setKey] = useState("ada");
  // Sent first and then awaited, so its id is available also where pages may not read the headers of an answer.
  const call = useChange(
    async ({ ingress }) => {
      const { invocationId } = await ingress.send(addressOf(callable, key), body === "" ? {} : { body });
      const { body: answer } = await ingress.attach(invocationId);
      return { invocationId, answer };
    },
    { onDone: ({ invocationId }) => note({ calledId: invocationId }) },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    call.mutate();
  };
  return (
    <form onSubmit={submit} className="stack">
      {callable.needsKey && <TextField label="Key" value={key} onChange={setKey} required />}
      <TextArea
        label="Argument, as JSON"
        value={body}
        onChange={setBody}
        rows={Math.min(8, body.split("\n").length + 1)}
        isCode
      />
      <div className="row">
        <Button
          type="submit"
          appearance={progress.calledId === undefined ? "primary" : "quiet"}
          isBusy={call.isPending}
          forbidden={forbidden}
        >
          Call
        </Button>
      </div>
      {call.isError && <ProblemNote cause={call.error} title="The call failed." />}
      {call.data !== undefined && (
        <div className="tour__answer" role="status">
          <p className="quiet small">Response</p>
          <pre>{new TextDecoder().decode(call.data.answer) || "nothing"}</pre>
        </div>
      )}
      {progress.calledId !== undefined && (
        <p>
          What happened, step by step: <Link href={`/invocations/${encodeURIComponent(progress.calledId)}`}>its timeline</Link>.
          More handlers and ways to call them: <Link href="/playground">the playground</Link>.
        </p>
      )}
    </form>
  );
}
