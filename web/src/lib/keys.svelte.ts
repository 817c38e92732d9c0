/** Keyboard shortcuts: each view says what its keys do, and the help dialog lists what holds right now. */
export interface Shortcut {
  /** As in `KeyboardEvent.key`. */
  key: string;
  does: string;
  run: () => void;
}

// Not state: a component's teardown sees state as it was before the change that ends it, so the lists that the next
// view has declared by then would be missing.
const declared: (readonly Shortcut[])[] = [];
let active = $state.raw<readonly Shortcut[]>([]);

/** What holds right now, in the order it was declared. */
export function shortcuts(): readonly Shortcut[] {
  return active;
}

/** Declares shortcuts for as long as the calling component lives. Call during set-up. */
export function useShortcuts(list: readonly Shortcut[]): void {
  $effect.pre(() => {
    declared.push(list);
    active = declared.flat();
    return () => {
      declared.splice(declared.indexOf(list), 1);
      active = declared.flat();
    };
  });
}

/** Starts to listen; call once. Keys are left alone while someone types or a dialog is open. */
export function startShortcuts(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
    // The last one declared wins: it belongs to the innermost view.
    const shortcut = active.findLast((candidate) => candidate.key === event.key);
    if (!shortcut) return;
    event.preventDefault();
    shortcut.run();
  });
}

/** Moves the focus to the next (1) or previous (-1) element that matches. */
export function moveFocus(selector: string, step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
  all[next]?.focus();
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}
