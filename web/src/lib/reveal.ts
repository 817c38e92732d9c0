/** Brings an element into view, in the middle of the nearest `[data-scroller]` that scrolls, or of the page. */
export function reveal(element: HTMLElement): void {
  const scroller = element.closest<HTMLElement>('[data-scroller]');
  if (!scroller || scroller.scrollHeight <= scroller.clientHeight + 1) {
    element.scrollIntoView({ block: 'center' });
    return;
  }
  const box = element.getBoundingClientRect();
  const around = scroller.getBoundingClientRect();
  scroller.scrollTop += box.top - around.top - (around.height - Math.min(box.height, around.height)) / 2;
  element.scrollIntoView({ block: 'nearest' });
}
