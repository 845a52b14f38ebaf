/** One step of the tour: its number, whether it is done, and its requirements. */
import type { ReactNode } from "react";

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  /** Requirements of the step; undefined when it has none. */
  readonly waitsFor?: string | undefined;
  readonly children: ReactNode;
}

export function Step({ number, title, isDone, waitsFor, children }: StepProps) {
  return (
    <li className={`tour__step${isDone ? " tour__step--done" : ""}`}>
      <div className="tour__number" aria-hidden="true">
        {isDone ? "✓" : number}
      </div>
      <section className="tour__body stack">
        <h2>
          {title}
          {isDone && <span className="visually-hidden"> (done)</span>}
        </h2>
        {waitsFor === undefined ? children : <p className="quiet">This needs {waitsFor}.</p>}
      </section>
    </li>
  );
}
