import { Button, CheckField, Dialog, DialogActions } from "../../kit/index.js";
import { CHOICES, USUAL } from "./columns.js";

interface ColumnsDialogProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
  readonly onClose: () => void;
}

export function ColumnsDialog({ chosen, onChange, onClose }: ColumnsDialogProps) {
  return (
    <Dialog title="Columns" isOpen onClose={onClose}>
      <div className="stack stack--tight">
        <p className="quiet small">Remembered in this browser. Narrow windows show cards instead.</p>
        {CHOICES.map(({ name, label }) => (
          <CheckField
            key={name}
            label={label}
            isOn={chosen.includes(name)}
            onChange={(isOn) => onChange(isOn ? [...chosen, name] : chosen.filter((each) => each !== name))}
          />
        ))}
        <DialogActions>
          <Button onClick={() => onChange(USUAL)}>Reset to default</Button>
          <Button appearance="primary" onClick={onClose}>
            Done
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
