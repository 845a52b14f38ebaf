/** Creates or changes a rule as a whole; it is checked before it is sent, and never overwrites a concurrent change. */
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import type { LimitRule } from "./flow-rows.js";
import { type RuleFields, ruleChange, ruleFields, ruleProblems } from "./rule-form.js";

export function RuleDialog({ rule, onClose }: { readonly rule: LimitRule | undefined; readonly onClose: () => void }) {
  const [fields, setFields] = useState(() => ruleFields(rule));
  const [isTried, setTried] = useState(false);
  const problems = ruleProblems(fields);
  const shown = isTried ? problems : {};
  const save = useChange<void>(({ admin }) => admin.rules.put([ruleChange(fields, rule)]), {
    done: () => `Rule ${fields.pattern} saved`,
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
    <Dialog title={rule === undefined ? "Create rule" : `Edit ${rule.pattern}`} isOpen onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        {rule === undefined &&
          field("pattern", "Pattern", "acme: the scope · acme/*: each limit key in it · */*/*: each second part in every scope")}
        <div className="flow__form">
          {field("concurrency", "Max concurrency", "Empty: no limit")}
          {field("rateLimit", "Rate limit", "Empty: no limit")}
          {field("ratePer", "Per", "A duration such as 1s or 10m")}
          {field("burst", "Burst", "Empty: the rate limit")}
          {field("weight", "Weight", "Share relative to siblings; 1 when empty")}
          {field("priority", "Priority", "1 (first) to 5 (last), for calls without a priority")}
        </div>
        {field("description", "Description")}
        <p className="quiet small">Applies within moments, also to waiting invocations. Running invocations are never stopped.</p>
        {save.isError && <ProblemNote cause={save.error} title="The rule was not saved." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" appearance="primary" isBusy={save.isPending}>
            {rule === undefined ? "Create" : "Save"}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
