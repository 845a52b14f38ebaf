/** Why: whoever was asked answers here: with a value that lets the handler go on, or with a reason why not. */
import { type FormEvent, useState } from "react";
import { Button, ChoiceField, CodeEditor, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../ask.js";
import { isJson } from "../state/json-text.js";

const WAYS = [
  { value: "json", label: "Resolve with JSON" },
  { value: "text", label: "Resolve with text" },
  { value: "reject", label: "Reject with a reason" },
] as const;
export type Way = (typeof WAYS)[number]["value"];

export function AnswerDialog({ id, first, onClose }: { readonly id: string; readonly first: Way; readonly onClose: () => void }) {
  const [way, setWay] = useState<Way>(first);
  const [text, setText] = useState("");
  const [isTried, setTried] = useState(false);
  const answer = useChange<void, void>(
    ({ ingress }) => {
      if (way === "reject") return ingress.rejectAwakeable(id, text);
      return ingress.resolveAwakeable(id, text, way === "json" ? "application/json" : "text/plain");
    },
    { done: () => (way === "reject" ? "It is rejected" : "It is resolved"), onDone: onClose },
  );
  const problem =
    way === "json" && !isJson(text)
      ? 'This is not JSON. A text needs quotes: "…"; nothing is null.'
      : way === "reject" && text.trim() === ""
        ? "The handler sees the reason: write one."
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
    <Dialog title="Answer an awakeable" isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <p className="quiet small awakeables__id">
          <code>{id}</code>
        </p>
        <ChoiceField label="Answer" value={way} choices={WAYS} onChange={setWay} />
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
            hint="As the handler's code reads it. What is answered once stays answered."
          />
        )}
        {answer.isError && <ProblemNote cause={answer.error} title="It was not answered." />}
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" look={way === "reject" ? "danger" : "primary"} isBusy={answer.isPending}>
            {way === "reject" ? "Reject it" : "Resolve it"}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
