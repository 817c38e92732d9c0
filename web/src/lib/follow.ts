/** Being told by the server how far something has come; asking again and again where it does not tell. */
import { headers } from './access';
import { poll } from './poll';
import { safeJson } from './safetext';

/** What is done with news: the server's word for it, or nothing where one has to ask. */
export type Told<T> = (now?: T) => Promise<void>;

/**
 * Calls `told` whenever the server tells something at `path`, for as long as the page is in sight. When it does not, or
 * tells no more, `told` is called now and then. Returns what ends it.
 */
export function follow<T>(path: string, told: Told<T>): () => void {
  let stop = () => {};
  const begin = () => {
    const control = new AbortController();
    stop = () => control.abort();
    void listen(path, told, control.signal)
      .catch(() => undefined)
      .then(() => {
        if (!control.signal.aborted) stop = poll(() => told());
      });
  };
  const look = () => {
    stop();
    stop = () => {};
    if (document.hidden) return;
    void told();
    begin();
  };
  document.addEventListener('visibilitychange', look);
  if (!document.hidden) begin();
  return () => {
    stop();
    document.removeEventListener('visibilitychange', look);
  };
}

/** Reads server-sent events until they end. A browser's own reader of them sends no token. */
async function listen<T>(path: string, told: Told<T>, signal: AbortSignal): Promise<void> {
  const response = await fetch(path, { headers: { ...headers(), accept: 'text/event-stream' }, cache: 'no-store', signal });
  if (!response.ok || !response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) await told(JSON.parse(safeJson(data)) as T);
    }
  }
}
