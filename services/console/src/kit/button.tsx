/** Buttons look and behave the same everywhere; a forbidden button stays in its place and explains why. */
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Hint } from "./hint.js";
import "./button.css";

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled" | "type"> {
  /** `quiet` by default. One `primary` on a page or dialog; `danger` for what cannot be undone. */
  readonly appearance?: "primary" | "quiet" | "bare" | "danger";
  /** Whether a `bare` button deletes something, after a confirmation. */
  readonly isDanger?: boolean;
  readonly type?: "button" | "submit";
  /** Something is under way: it cannot be pressed again. */
  readonly isBusy?: boolean | undefined;
  /** Why the button is disabled now; shown on hover or focus. */
  readonly forbidden?: string | undefined;
  readonly isSmall?: boolean;
  readonly children: ReactNode;
}

export function Button({
  appearance = "quiet",
  type = "button",
  isBusy,
  forbidden,
  isSmall,
  isDanger,
  className,
  onClick,
  ...more
}: ButtonProps) {
  const isOff = isBusy === true || forbidden !== undefined;
  // Not `disabled`: a user who cannot focus it could not read why.
  const button = (
    <button
      {...more}
      // A submit button would send its form all the same.
      type={isOff ? "button" : type}
      aria-disabled={isOff || undefined}
      aria-busy={isBusy || undefined}
      className={`button button--${appearance}${isSmall ? " button--small" : ""}${isDanger ? " button--destroys" : ""} ${className ?? ""}`}
      onClick={isOff ? (event) => event.preventDefault() : onClick}
    />
  );
  return forbidden === undefined ? button : <Hint text={forbidden}>{button}</Hint>;
}
