// Compares pages with the pictures of an earlier version. A picture is a page reduced to squares
// of 16 × 16 pixels, each with its mean color: names and fonts hardly change it; layout, colors
// and missing parts do. Times, which also change the width of columns, are masked. Squares with
// the background of the page do not count. With PICTURES=update, the pages become the pictures, and
// pictures of pages that no longer exist are removed; with PICTURES=measure, all differences are
// printed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('pictures.json', import.meta.url));
const square = 16; // CSS pixels
const tolerance = 20; // of 255, in each color of a square
const maxShare = 0.05; // of the squares may differ

/** Reduces a PNG, and compares it with another one that is reduced. Runs in the browser. */
async function reduce({ png, expected, square, tolerance }) {
  const decode = async (data) => createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
  const draw = (bitmap, width, height) => {
    const canvas = new OffscreenCanvas(width, height);
    const c = canvas.getContext('2d', { willReadFrequently: true });
    c.imageSmoothingQuality = 'high';
    c.drawImage(bitmap, 0, 0, width, height);
    return [canvas, c.getImageData(0, 0, width, height).data];
  };
  const page = await decode(png);
  const [width, height] = [Math.round(page.width / square), Math.round(page.height / square)];
  const [canvas, now] = draw(page, width, height);
  const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/png' })).arrayBuffer());
  const reduced = btoa(String.fromCharCode(...bytes));
  if (!expected) return { reduced };
  const before = await decode(expected);
  if (before.width !== width || before.height !== height) return { reduced, differs: [], share: 1 };
  const [, then] = draw(before, width, height);
  const color = (data, i) => [data[i], data[i + 1], data[i + 2]];
  const far = (a, b, than) => a.some((v, k) => Math.abs(v - b[k]) > than);
  const counts = new Map();
  for (let i = 0; i < then.length; i += 4) {
    const c = String(color(then, i));
    counts.set(c, (counts.get(c) ?? 0) + 1);
  }
  const [[commonest]] = [...counts].sort((a, b) => b[1] - a[1]);
  const background = commonest.split(',').map(Number);
  const differs = [];
  let drawn = 0;
  for (let i = 0; i < now.length; i += 4) {
    const [a, b] = [color(now, i), color(then, i)];
    if (far(a, background, 2) || far(b, background, 2)) drawn++;
    if (far(a, b, tolerance)) differs.push({ x: ((i / 4) % width) * square, y: Math.floor(i / 4 / width) * square });
  }
  return { reduced, differs, share: differs.length / Math.max(1, drawn) };
}

/** Gives all times one width and no text, or their own ones again. Runs in the browser. */
function maskTimes(on) {
  const masked = new CSSStyleSheet();
  masked.replaceSync('time { display: inline-block; width: 8ch; height: 1em; overflow: hidden; color: transparent; }');
  document.adoptedStyleSheets = on ? [masked] : [];
}

/** Returns the smallest rectangle that contains the squares, in words. */
function region(squares) {
  const [xs, ys] = [squares.map((s) => s.x), squares.map((s) => s.y)];
  return `between (${Math.min(...xs)}, ${Math.min(...ys)}) and (${Math.max(...xs) + square}, ${Math.max(...ys) + square})`;
}

/** The pictures, which are read once, and written by close. */
export class Pictures {
  /** all has the picture of each name, page reduces screenshots, and update replaces pictures. */
  constructor(all, page, update) {
    Object.assign(this, { all, page, update });
  }

  static async open(browser) {
    const all = JSON.parse(readFileSync(file, 'utf8'));
    return new Pictures(all, await browser.newPage(), process.env.PICTURES === 'update');
  }

  /** Returns how a page differs from its picture, or nothing. The page is then in web/screenshots. */
  async compare(page, name) {
    await page.evaluate(maskTimes, true);
    const png = await page.screenshot({ animations: 'disabled' });
    await page.evaluate(maskTimes, false);
    const expected = this.update ? undefined : this.all[name];
    const r = await this.page.evaluate(reduce, { png: png.toString('base64'), expected, square, tolerance });
    if (this.update) this.all[name] = r.reduced;
    else if (!expected) return 'has no picture in test/pictures.json';
    else if (process.env.PICTURES === 'measure') console.log(`picture ${name} ${(100 * r.share).toFixed(2)}`);
    if (!(r.share > maxShare)) return undefined;
    mkdirSync('screenshots', { recursive: true });
    const at = `screenshots/differs-${name.replace(/\W+/g, '_')}.png`;
    writeFileSync(at, png);
    const where = r.differs.length ? region(r.differs) : 'in its size';
    return `differs from its picture in ${(100 * r.share).toFixed(1)} % of what it shows, ${where}: see web/${at}`;
  }

  /** Returns the pictures that none of the pages with these names has. An update removes them instead. */
  checkUnused(names) {
    const unused = Object.keys(this.all).filter((name) => !names.includes(name));
    if (!this.update) return unused;
    for (const name of unused) delete this.all[name];
    return [];
  }

  async close() {
    await this.page.close();
    if (!this.update) return;
    const sorted = Object.keys(this.all).sort();
    writeFileSync(file, JSON.stringify(this.all, sorted, 1) + '\n');
  }
}
