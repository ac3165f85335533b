// Opens a terminal under the Content-Security-Policy of the page, which requires a nonce
// for style elements and forbids style attributes.

import type { Terminal } from '@xterm/xterm';
import { nonce } from '../../../nonce';

function applyNonce<E extends HTMLElement>(element: E): E {
  if (element instanceof HTMLStyleElement) {
    element.nonce = nonce();
    return element;
  }
  const setAttribute = element.setAttribute.bind(element);
  // The policy does not apply to the style property.
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value;
    else setAttribute(name, value);
  };
  return element;
}

/** Returns the document that is passed to the terminal's renderer. */
function createDocumentProxy(): Document {
  return new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') return (tag: string) => applyNonce(target.createElement(tag));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Reports whether the server enables WebGL rendering. */
function isWebGLEnabled(): boolean {
  return document.querySelector<HTMLMetaElement>('meta[name=terminal-renderer]')?.content === 'webgl';
}

/** Renders a terminal with WebGL. Without WebGL, or when the context is lost, the terminal
 * falls back to the DOM renderer. */
async function loadWebGL(screen: Terminal): Promise<void> {
  const { WebglAddon } = await import('@xterm/addon-webgl');
  try {
    const webgl = new WebglAddon();
    webgl.onContextLoss(() => webgl.dispose());
    screen.loadAddon(webgl);
  } catch (e) {
    console.info('The terminal renders without WebGL:', e);
  }
}

/** Lets the renderer style the text. It creates spans from the global document at any time, so that
 * selections and 24-bit colors would be invisible. */
function allowStyledSpans() {
  HTMLSpanElement.prototype.setAttribute = function (name, value) {
    if (name === 'style') this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
}

/** Opens a terminal in an element. */
export function openTerminal(screen: Terminal, at: HTMLElement): void {
  allowStyledSpans();
  screen.options.documentOverride = createDocumentProxy();
  // The viewport uses the global document once, while it opens.
  document.createElement = ((tag: string) =>
    applyNonce(Document.prototype.createElement.call(document, tag))) as Document['createElement'];
  try {
    screen.open(at);
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
  if (isWebGLEnabled()) void loadWebGL(screen);
}
