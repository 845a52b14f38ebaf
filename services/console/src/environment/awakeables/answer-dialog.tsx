/** Completes an awakeable: with a value that lets the handler continue, or with a reason for a failure. */
import { type FormEvent, useState } from "react";
import { Button, ChoiceField, CodeEditor, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { isJson } from "../state/json-text.js";

const WAYS = [
  { value: "json", label: "Resolve with JSON" },
  { value: "text", label: "Resolve with text" },
  { value: "reject", label: "Reject with a reason" },
] as const;
export type CompletionWay = (typeof WAYS)[number]["value"];

export function AnswerDialog({
  id,
  first,
  onClose,
}: {
  readonly id: string;
  readonly first: CompletionWay;
  readonly onClose: () => void;
}) {
  const [way, setWay] = useState<CompletionWay>(first);
  const [text, setText] = useState("");
  const [isTried, setTried] = useState(false);
  const answer = useChange<void, void>(
    ({ ingress }) => {
      if (way === "reject") return ingress.rejectAwakeable(id, text);
      return ingress.resolveAwakeable(id, text, way === "json" ? "application/json" : "text/plain");
    },
    { done: () => (way === "reject" ? "Awakeable rejected" : "Awakeable resolved"), onDone: onClose },
  );
  const problem =
    way === "json" && !isJson(text)
      ? 'Not valid JSON. Strings need quotes: "…"; use null for no value.'
      : way === "reject" && text.trim() === ""
        ? "Enter a reason; the handler receives it."
        : undefined;
  const send = () => {
    setTried(true);
    if (problem === undefined && !answer.isPending) answer.mutate();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const shown = isTried ? problem : undefined;
  return (
    <Dialog title="Complete awakeable" isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <p className="quiet small awakeables__id">
          <code>{id}</code>
        </p>
        <ChoiceField label="Action" value={way} choices={WAYS} onChange={setWay} />
        {way === "reject" ? (
          <TextField label="Reason" value={text} onChange={setText} problem={shown} />
        ) : (
          <CodeEditor
            label="Value"
            language={way}
            value={text}
            onChange={setText}
            onSubmit={send}
            problem={shown}
            hint="The value as the handler receives it. An awakeable can be completed only once."
          />
        )}
        {answer.isError && <ProblemNote cause={answer.error} title="The awakeable was not completed." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance={way === "reject" ? "danger" : "primary"} isBusy={answer.isPending}>
            {way === "reject" ? "Reject" : "Resolve"}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
