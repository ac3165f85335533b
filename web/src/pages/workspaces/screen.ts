// A terminal under the page's Content-Security-Policy, which lets style elements
// in only with the nonce, and no style attributes at all.

import type { Terminal } from '@xterm/xterm';
import { nonce } from '../../nonce';

function allowed<E extends HTMLElement>(element: E): E {
  if (element instanceof HTMLStyleElement) {
    element.nonce = nonce();
    return element;
  }
  const setAttribute = element.setAttribute.bind(element);
  // The policy does not look at what scripts set through the style property.
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value;
    else setAttribute(name, value);
  };
  return element;
}

/** The document as a terminal's renderer sees it. */
function allowedDocument(): Document {
  return new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') return (tag: string) => allowed(target.createElement(tag));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Opens a terminal in an element of the page. */
export function openScreen(screen: Terminal, at: HTMLElement): void {
  screen.options.documentOverride = allowedDocument();
  // The viewport takes the page's own document, once, while it opens.
  document.createElement = ((tag: string) => allowed(Document.prototype.createElement.call(document, tag))) as Document['createElement'];
  try {
    screen.open(at);
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}
