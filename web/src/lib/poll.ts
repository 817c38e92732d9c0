/** Runs `work` every so often while the page is being looked at. Returns what ends it. */
export function poll(work: () => Promise<void>, everyMs: number): () => void {
  let timer = 0;
  let ended = false;
  const next = () => {
    timer = window.setTimeout(() => {
      const done = document.visibilityState === 'visible' ? work() : Promise.resolve();
      void done.finally(() => {
        if (!ended) next();
      });
    }, everyMs);
  };
  next();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
