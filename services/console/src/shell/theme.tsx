/** Why: dark, light, or as the system has it; remembered in this browser, and so before anything is drawn. */
import { useState } from "react";
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

export function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme);
  const choose = (next: Theme) => {
    setTheme(next);
    if (next === "system") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, next);
    apply(next);
  };
  return <ChoiceField label="Theme" isLabelHidden value={theme} choices={CHOICES} onChange={choose} />;
}
