/** The progress of the tour in this browser, for one environment. */
import { useCallback, useState } from "react";
import { useEnvironment } from "../environment.js";
import { NO_PROGRESS, parseProgress, type TourProgress } from "./progress.js";

export interface TourState {
  readonly progress: TourProgress;
  readonly note: (change: Partial<TourProgress>) => void;
  readonly begin: () => void;
}

export function useProgress(): TourState {
  const { key } = useEnvironment();
  const stored = `perdure.tour.${key}`;
  const [progress, setProgress] = useState(() => parseProgress(localStorage.getItem(stored)));
  const note = useCallback(
    (change: Partial<TourProgress>) => {
      const next = { ...parseProgress(localStorage.getItem(stored)), ...change };
      localStorage.setItem(stored, JSON.stringify(next));
      setProgress(next);
    },
    [stored],
  );
  const begin = useCallback(() => {
    localStorage.removeItem(stored);
    setProgress(NO_PROGRESS);
  }, [stored]);
  return { progress, note, begin };
}
