/**
 * Brings an element into view, in the middle of the nearest `[data-scroller]` that scrolls, or of the page. The page
 * itself moves only if `movePage` says so: a reader who asked for nothing stays where they are.
 */
export function reveal(element: HTMLElement, movePage: boolean): void {
  for (let around = element.closest('details'); around; around = around.parentElement?.closest('details') ?? null) around.open = true;
  const scroller = element.closest<HTMLElement>('[data-scroller]');
  if (!scroller || scroller.scrollHeight <= scroller.clientHeight + 1) {
    if (movePage) element.scrollIntoView({ block: 'center' });
    return;
  }
  const box = element.getBoundingClientRect();
  const around = scroller.getBoundingClientRect();
  scroller.scrollTop += box.top - around.top - (around.height - Math.min(box.height, around.height)) / 2;
  if (movePage) element.scrollIntoView({ block: 'nearest' });
}
