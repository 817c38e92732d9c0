/** Asking the server again while somebody waits for an answer and looks at the page. */

/** The first pause, and the longest one, in milliseconds: who waits long is asked less and less often. */
const FIRST_MS = 700;
const LONGEST_MS = 20_000;
const GROWTH = 1.6;

/** The pause after so many questions in vain. */
export function pauseMs(asked: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * GROWTH ** asked);
}

/**
 * Runs `work` with growing pauses while the page is in sight, and at once when it comes back into sight. Nothing runs
 * while it is hidden. Returns what ends it.
 */
export function poll(work: () => Promise<void>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asked = 0;
  let ended = false;
  const later = () => {
    timer = setTimeout(run, pauseMs(asked));
  };
  const run = () => {
    timer = undefined;
    if (document.hidden) return;
    asked += 1;
    void work().finally(() => {
      if (!ended && timer === undefined) later();
    });
  };
  const stopWatching = whenShown(() => {
    clearTimeout(timer);
    asked = 0;
    run();
  });
  later();
  return () => {
    ended = true;
    clearTimeout(timer);
    stopWatching();
  };
}

/** Coming back is one event, though a browser may tell it as two. */
const ONCE_MS = 500;

/** Runs `work` whenever somebody comes back to the page. Returns what ends it. */
export function whenShown(work: () => void): () => void {
  let last = -Infinity;
  const look = () => {
    if (document.hidden || Date.now() - last < ONCE_MS) return;
    last = Date.now();
    work();
  };
  document.addEventListener('visibilitychange', look);
  // A window beside another one is never hidden.
  window.addEventListener('focus', look);
  return () => {
    document.removeEventListener('visibilitychange', look);
    window.removeEventListener('focus', look);
  };
}
