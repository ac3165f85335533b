// Writes the strings that users of the dashboard read to text files, each on
// the line that it has in its source, for the prose linter:
//
//	node strings.mjs DIRECTORY
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

// Props whose values users read.
const props = new Set([
  'alt',
  'aria-label',
  'caption',
  'description',
  'empty',
  'error',
  'heading',
  'help',
  'hint',
  'label',
  'message',
  'nothingFoundMessage',
  'placeholder',
  'subtitle',
  'text',
  'title',
  'tooltip',
  'what',
]);

// A string elsewhere counts when it reads like a sentence or a label of words.
const sentence = /^[A-Z][^<>{}]* [^<>{}]*$/;

/** Reports whether users read a string literal, by its place in the tree. */
function isRead(node) {
  const parent = node.parent;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return false;
  if (ts.isJsxAttribute(parent)) return props.has(parent.name.getText());
  if (ts.isPropertyAssignment(parent) && parent.initializer === node && props.has(parent.name.getText())) return true;
  return sentence.test(node.text);
}

function extract(path, text) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const lines = text.split('\n').map(() => '');
  const place = (position, words) => {
    const at = file.getLineAndCharacterOfPosition(position).line;
    words.split('\n').forEach((line, i) => {
      if (line.trim() && at + i < lines.length) lines[at + i] += (lines[at + i] && '; ') + line.trim();
    });
  };
  const visit = (node) => {
    if (ts.isJsxText(node)) place(node.pos, node.text);
    else if (ts.isStringLiteralLike(node) && isRead(node)) place(node.getStart(), node.text);
    else if (ts.isTemplateExpression(node)) {
      for (const part of [node.head, ...node.templateSpans.map((s) => s.literal)]) {
        if (/[a-z]+ [a-z]+/i.test(part.text)) place(part.getStart(), part.text);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return lines.join('\n');
}

const out = process.argv[2];
if (!out) throw new Error('usage: node strings.mjs DIRECTORY');
for (const name of readdirSync('src', { recursive: true })) {
  const path = join('src', name);
  if (!/\.tsx?$/.test(path) || path.includes('.gen.')) continue;
  const target = join(out, 'web', path + '.txt');
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, extract(path, readFileSync(path, 'utf8')));
}
