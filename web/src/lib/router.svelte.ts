/** The address as reactive state. Links are plain links; clicks on them are taken over here. */

const current = $state({ path: location.pathname, search: location.search });

/** Where we are. */
export const route = {
  get path() {
    return current.path;
  },
  get params() {
    return new URLSearchParams(current.search);
  },
};

export function navigate(href: string, options: { replace?: boolean } = {}): void {
  const target = new URL(href, location.href);
  const before = location.pathname;
  if (target.href !== location.href) {
    history[options.replace ? 'replaceState' : 'pushState'](null, '', target);
  }
  read();
  if (target.pathname !== before) scrollTo(0, 0);
}

/** Starts to follow the address; call once. */
export function startRouter(): void {
  addEventListener('popstate', read);
  document.addEventListener('click', (event) => {
    const anchor = (event.target as Element | null)?.closest?.('a');
    if (!anchor || !isOurs(event, anchor)) return;
    event.preventDefault();
    navigate(anchor.href);
  });
}

function read(): void {
  current.path = location.pathname;
  current.search = location.search;
}

/** A plain click on a link to a page of this interface; everything else is the browser's. */
function isOurs(event: MouseEvent, anchor: HTMLAnchorElement): boolean {
  return (
    event.button === 0 &&
    !event.defaultPrevented &&
    !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) &&
    anchor.target === '' &&
    !anchor.hasAttribute('download') &&
    anchor.origin === location.origin &&
    !anchor.pathname.startsWith('/api/') &&
    !anchor.getAttribute('href')?.startsWith('#')
  );
}
