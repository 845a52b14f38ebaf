/** Settings of what can be undone: the management API decides for how long, workers how much they keep. */
import { byteSize, duration } from "../config/setting.js";

export const undoWindowSetting = duration("10m", {
  sentence:
    "How long a kill, a cancellation, a purge, a pause, a resumption, a restart as new, a state edit or a deletion can be undone (duration, at most 1d); 0 keeps nothing.",
});

export const undoBytesSetting = byteSize("64MiB", {
  sentence: "What each partition keeps for that (size); the oldest is dropped first.",
});

/** A longer window is cut: batches, which name what to undo, are kept for a day. */
export const UNDO_WINDOW_MAX_MS = 86_400_000;
