/** Why: a rule is made or changed as a whole, checked before it is sent, and never over somebody else's change. */
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../ask.js";
import type { Rule } from "./flow-rows.js";
import { type RuleFields, ruleChange, ruleFields, ruleProblems } from "./rule-form.js";

export function RuleDialog({ rule, onClose }: { readonly rule: Rule | undefined; readonly onClose: () => void }) {
  const [fields, setFields] = useState(() => ruleFields(rule));
  const [isTried, setTried] = useState(false);
  const problems = ruleProblems(fields);
  const shown = isTried ? problems : {};
  const save = useChange<void>(({ admin }) => admin.rules.put([ruleChange(fields, rule)]), {
    done: () => `${fields.pattern} holds`,
    onDone: onClose,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(problems).length === 0 && !save.isPending) save.mutate();
  };
  const field = (name: keyof RuleFields, label: string, hint?: string) => (
    <TextField
      label={label}
      value={fields[name]}
      onChange={(value) => setFields((now) => ({ ...now, [name]: value }))}
      problem={shown[name]}
      autoComplete="off"
      spellCheck={false}
      {...(hint === undefined ? {} : { hint })}
    />
  );
  return (
    <Dialog title={rule === undefined ? "Make a rule" : `Change ${rule.pattern}`} isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        {rule === undefined &&
          field("pattern", "Pattern", "acme: the scope · acme/*: each limit key in it · */*/*: each second part in every scope")}
        <div className="flow__form">
          {field("concurrency", "At once", "Empty: any number")}
          {field("rateLimit", "Starts", "Empty: any number")}
          {field("ratePer", "In each", "A duration such as 1s or 10m")}
          {field("burst", "Of them at once", "Empty: all of them")}
          {field("weight", "Weight", "Its share among its siblings; 1 when empty")}
          {field("priority", "Priority", "1 first … 5 last, for calls that name none")}
        </div>
        {field("description", "What it is for")}
        <p className="quiet small">It holds within moments, also for those who wait. Who runs is never stopped by it.</p>
        {save.isError && <ProblemNote cause={save.error} title="It was not saved." />}
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button type="submit" look="primary" isBusy={save.isPending}>
            {rule === undefined ? "Make it" : "Save"}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
