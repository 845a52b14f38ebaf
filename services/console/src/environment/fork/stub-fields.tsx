/** Results of calls in a sandbox, in place of those that the source got. */
import { useRef } from "react";
import { Button, Icon, TextField } from "../../kit/index.js";
import type { CallStub } from "./fork-form.js";

interface StubFieldsProps {
  readonly stubs: readonly CallStub[];
  readonly onChange: (stubs: readonly CallStub[]) => void;
  readonly problems: ReadonlyMap<string, string>;
}

export function StubFields({ stubs, onChange, problems }: StubFieldsProps) {
  const nextKey = useRef(stubs.length);
  const changed = (stub: CallStub) => onChange(stubs.map((each) => (each.key === stub.key ? stub : each)));
  return (
    <fieldset className="fork__edits stack stack--tight">
      <legend>Results of calls</legend>
      <p className="quiet small">
        Calls get the results that this invocation got, unless a handler is listed here. The steps of the handler itself run in
        its own process, with their effects.
      </p>
      {stubs.map((stub) => (
        <div key={stub.key} className="row fork__fields">
          <TextField
            label="Handler"
            hint="Service/handler"
            value={stub.target}
            problem={problems.get(`stub ${stub.key}`)}
            spellCheck={false}
            autoComplete="off"
            onChange={(target) => changed({ ...stub, target })}
          />
          <TextField
            label="Result of the call"
            hint="As JSON"
            isCode
            value={stub.text}
            spellCheck={false}
            autoComplete="off"
            onChange={(text) => changed({ ...stub, text })}
          />
          <Button
            isSmall
            appearance="bare"
            aria-label={`Remove the result of ${stub.target}`}
            onClick={() => onChange(stubs.filter(({ key }) => key !== stub.key))}
          >
            <Icon name="clear" />
          </Button>
        </div>
      ))}
      <div>
        <Button isSmall onClick={() => onChange([...stubs, { key: nextKey.current++, target: "", text: "" }])}>
          <Icon name="add" /> Set the result of a call
        </Button>
      </div>
    </fieldset>
  );
}
