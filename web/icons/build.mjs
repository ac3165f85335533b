// Builds the files that the server serves under /icon/ and /emojis/ from the packages that
// package.json pins: dist/icons.bin holds the concatenated files, dist/index.json.gz their
// offsets. icons.go embeds both.
//
//   npm ci && npm run build

import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import sharp from 'sharp';
import * as simple from 'simple-icons';

const here = new URL('.', import.meta.url);
const text = (path) => readFileSync(new URL(path, here), 'utf8');
const json = (path) => JSON.parse(text(path));

/** The color of monochrome icons, visible on light and dark pages. */
const neutral = '#7f8894';
/** Colors of letters in logos that are invisible on dark pages. */
const ink = /#(252f3e)/gi;
/** Sizes of PNG files in pixels: emoji, and the longer side of icons. */
const emojiSize = 64;
const iconSize = 128;
/** The maximum size of the archive in bytes. */
const most = 6_000_000;

const fail = (message) => {
  throw new Error(message);
};

/** Wraps a body in an SVG document with a default size of at most 64 by 64. */
function document(body, { left = 0, top = 0, width, height }) {
  const scale = 64 / Math.max(width, height);
  const size = `width="${Math.round(width * scale)}" height="${Math.round(height * scale)}"`;
  const link = body.includes('xlink:') ? ' xmlns:xlink="http://www.w3.org/1999/xlink"' : '';
  return `<svg xmlns="http://www.w3.org/2000/svg"${link} ${size} viewBox="${left} ${top} ${width} ${height}">${body}</svg>`;
}

/** Returns an icon of an Iconify collection. */
const collections = new Map();
function iconify(prefix, name) {
  if (!collections.has(prefix)) collections.set(prefix, json(`node_modules/@iconify-json/${prefix}/icons.json`));
  const all = collections.get(prefix);
  const alias = all.aliases?.[name];
  if (alias && (alias.rotate || alias.hFlip || alias.vFlip)) fail(`${prefix}:${name} is drawn from another icon, which is not supported`);
  const icon = all.icons[alias?.parent ?? name] ?? fail(`${prefix} has no icon ${name}`);
  const side = (k, usual) => alias?.[k] ?? icon[k] ?? all[k] ?? usual;
  return document(icon.body, { left: side('left', 0), top: side('top', 0), width: side('width', 16), height: side('height', 16) });
}

/** Normalizes a complete SVG document. */
function whole(svg) {
  const box = /viewBox="([^"]+)"/.exec(svg)?.[1].split(/[ ,]+/).map(Number) ?? fail('a document has no viewBox');
  const inherited = [...(/<svg([^>]*)>/.exec(svg)?.[1] ?? '').matchAll(/\b(fill|fill-rule|stroke|stroke-[a-z]+)="[^"]*"/g)].map((m) => m[0]);
  const body = svg.replace(/^[\s\S]*?<svg[^>]*>/, '').replace(/<\/svg>\s*$/, '').replace(/<title>[\s\S]*?<\/title>/, '');
  return document(`<g ${inherited.join(' ')}>${body}</g>`, { left: box[0], top: box[1], width: box[2], height: box[3] });
}

/** Returns a brand icon in the brand's color, or in the neutral color when that is nearly black or white. */
function brand(slug, name) {
  const icon = Object.values(simple).find((i) => i.slug === slug) ?? fail(`simple-icons has no icon ${slug}`);
  const [r, g, b] = [0, 2, 4].map((at) => parseInt(icon.hex.slice(at, at + 2), 16));
  const light = (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  const gray = Math.max(r, g, b) - Math.min(r, g, b) < 24;
  let color = light < (gray ? 0.4 : 0.12) || light > 0.85 ? neutral : `#${icon.hex.toLowerCase()}`;
  if (name.endsWith('-white.svg')) color = '#ffffff';
  return document(`<path fill="${color}" d="${icon.path}"/>`, { width: 24, height: 24 });
}

const readers = {
  own: (n) => whole(text(`own/${n}.svg`)),
  lobehub: (n) => whole(text(`node_modules/@lobehub/icons-static-svg/icons/${n}.svg`)),
  'simple-icons': brand,
};

function read(source, name) {
  const [from, key] = source.split(':');
  const svg = (readers[from] ?? ((n) => iconify(from, n)))(key, name).replaceAll('currentColor', neutral).replace(ink, neutral);
  if (/<script|<foreignObject|\son[a-z]+=|href="(?!#)/i.test(svg)) fail(`${source} contains scripts or external links`);
  return svg;
}

/** Returns code points in the format of file names: without variation selectors and leading zeros. */
const emojiKey = (points) => points.toLowerCase().split('-').filter((p) => p !== 'fe0f').map((p) => p.replace(/^0+/, '')).join('-');

const png = (svg, size) =>
  sharp(Buffer.from(svg), { density: 300 }) //
    .resize(size, size, { fit: 'contain', background: '#0000' })
    .png({ palette: true, colours: 32, quality: 80, dither: 0, effort: 7 })
    .toBuffer();

/** Every emoji of Unicode: those of the list with their forms, and older ones that the pictures have too. */
function emoji() {
  const points = json('node_modules/@iconify-json/twemoji/chars.json');
  const picture = new Map(Object.entries(points).map(([k, name]) => [emojiKey(k), name]));
  // The parts of which others are made are not in that list.
  const tones = { '1f3fb': 'light', '1f3fc': 'medium-light', '1f3fd': 'medium', '1f3fe': 'medium-dark', '1f3ff': 'dark' };
  for (const [k, tone] of Object.entries(tones)) picture.set(k, `${tone}-skin-tone`);
  for (const [k, hair] of Object.entries({ '1f9b0': 'red-haired', '1f9b1': 'curly-haired', '1f9b3': 'white-haired', '1f9b2': 'bald' })) picture.set(k, hair);
  const list = json('node_modules/emojibase-data/en/data.json');
  const lacking = list.flatMap((e) => [e, ...(e.skins ?? [])]).filter((e) => !picture.has(emojiKey(e.hexcode)));
  if (lacking.length > 0) fail(`no picture of ${lacking.map((e) => e.hexcode).join(' ')}`);
  return { list, picture };
}

const files = new Map(); // path to content; the same content is stored once

const sources = json('sources.json');
for (const [name, source] of Object.entries(sources)) {
  const svg = read(source, name);
  files.set(`icon/${name}`, name.endsWith('.png') ? await png(svg, iconSize) : Buffer.from(svg));
}
const { list, picture } = emoji();
const drawn = new Map();
for (const name of new Set(picture.values())) drawn.set(name, png(read(`twemoji:${name}`), emojiSize));
for (const [key, name] of picture) files.set(`emojis/${key}.png`, await drawn.get(name));

const path = (e) => [...e.emoji].map((c) => c.codePointAt(0).toString(16)).join('-');
const picker = {
  icons: Object.keys(sources)
    .filter((n) => !(n.endsWith('.png') && n.replace('.png', '.svg') in sources)) // the same picture twice
    .sort()
    .map((n) => ({ path: `/icon/${n}`, name: n.replace(/\.[a-z]+$/, '') })),
  emojis: list
    .filter((e) => e.group !== undefined && e.group !== 2) // not the parts of others
    .sort((a, b) => a.order - b.order)
    .map((e) => ({ path: `/emojis/${path(e)}.png`, name: e.label, keywords: (e.tags ?? []).join(' ') })),
};
files.set('icons.json', Buffer.from(JSON.stringify(picker)));

const versions = json('package-lock.json').packages;
const licenses = json('licenses.json').map((l) => ({ ...l, version: l.package && versions[`node_modules/${l.package}`].version }));
const used = (from) => Object.entries(sources).filter(([, s]) => s.startsWith(`${from}:`)).map(([n]) => n);
files.set(
  'icon/LICENSES.txt',
  Buffer.from(
    [text('NOTICE.txt').trim()]
      .concat(
        licenses.map((l) =>
          [
            `${l.title}${l.package ? ` (${l.package} ${l.version})` : ''}`,
            `  ${l.author}. ${l.license}. ${l.url}`,
            `  ${l.from === 'twemoji' ? 'all of /emojis/' : used(l.from).join(' ')}`,
          ].join('\n'),
        ),
      )
      .concat(text('TEXTS.txt').trim())
      .join('\n\n') + '\n',
  ),
);
for (const from of new Set(Object.values(sources).map((s) => s.split(':')[0]))) if (!licenses.some((l) => l.from === from)) fail(`licenses.json lacks ${from}`);

const parts = [];
const at = new Map();
const index = {};
let end = 0;
for (const name of [...files.keys()].sort()) {
  const plain = files.get(name);
  const tag = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  if (!at.has(tag)) {
    const stored = name.endsWith('.png') ? plain : gzipSync(plain, { level: 9 });
    at.set(tag, [end, stored.length, tag]);
    parts.push(stored);
    end += stored.length;
  }
  index[name] = at.get(tag);
}
const packed = gzipSync(JSON.stringify(index), { level: 9 });
if (end + packed.length > most) fail(`the archive has ${end + packed.length} bytes, more than ${most}`);
for (const [name, content] of [['icons.bin', Buffer.concat(parts)], ['index.json.gz', packed]]) {
  const file = new URL(`dist/${name}`, here);
  rmSync(file, { force: true }); // another checkout may have the same file, by a hard link
  writeFileSync(file, content);
}
console.log(`${Object.keys(sources).length} icons and ${picture.size} emoji in ${(end + packed.length).toLocaleString('en')} bytes`);
