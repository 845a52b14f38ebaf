/** The theme: dark, light, or as the system; stored in this browser, so that it is known before the first paint. */
import { useSyncExternalStore } from "react";
import { ChoiceField } from "../kit/field.js";

type Theme = "system" | "light" | "dark";
const STORED = "perdure.theme";
const CHOICES = [
  { value: "system", label: "Theme: System" },
  { value: "light", label: "Theme: Light" },
  { value: "dark", label: "Theme: Dark" },
] as const;

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
}

/** Shows the page as it was chosen last. */
export function applyStoredTheme(): void {
  apply(storedTheme());
}

function apply(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

const listeners = new Set<() => void>();

/** Stores and applies it. */
export function chooseTheme(next: Theme): void {
  if (next === "system") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, next);
  apply(next);
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function ThemeChoice() {
  const theme = useSyncExternalStore(subscribe, storedTheme);
  return <ChoiceField label="Theme" isLabelHidden value={theme} choices={CHOICES} onChange={chooseTheme} />;
}
