import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { HighlightStyle, type StreamParser, StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { dockerFile } from '@codemirror/legacy-modes/mode/dockerfile';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import { yaml } from '@codemirror/legacy-modes/mode/yaml';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { nonce } from '../../nonce';
import { hcl, tags } from './hcl';

const languages: [RegExp, StreamParser<unknown>][] = [
  [/\.(tf|tfvars|hcl)$/, hcl as StreamParser<unknown>],
  [/\.(sh|bash)$/, shell as StreamParser<unknown>],
  [/\.(ya?ml)$/, yaml as StreamParser<unknown>],
  [/(^|\/)(Dockerfile|Containerfile)[^/]*$/, dockerFile as StreamParser<unknown>],
];

const color = (name: string) => `var(--mantine-color-${name}-text)`;

// One look for both colour schemes: the page's own variables.
const look: Extension = [
  EditorView.theme({
    '&': { fontSize: '13px', backgroundColor: 'var(--mantine-color-body)', color: 'var(--mantine-color-text)', height: '100%' },
    '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.55' },
    '.cm-gutters': { backgroundColor: 'var(--mantine-color-body)', color: 'var(--mantine-color-dimmed)', borderRight: '1px solid var(--mantine-color-default-border)' },
    '.cm-activeLine': { backgroundColor: 'var(--mantine-color-default-hover)' },
    '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
    '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--mantine-primary-color-filled), transparent 65%)' },
    '.cm-panels': { backgroundColor: 'var(--mantine-color-default)', color: 'var(--mantine-color-text)' },
    '.cm-changedLine, &.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': { backgroundColor: 'color-mix(in srgb, var(--mantine-color-green-filled), transparent 85%)' },
    '.cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--mantine-color-red-filled), transparent 85%)' },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: tags.keyword, color: color('violet') },
      { tag: [tags.string, tags.special(tags.string)], color: color('green') },
      { tag: [tags.number, tags.bool, tags.null, tags.atom], color: color('orange') },
      { tag: tags.comment, color: 'var(--mantine-color-dimmed)', fontStyle: 'italic' },
      { tag: [tags.propertyName, tags.attributeName], color: color('blue') },
      { tag: [tags.typeName, tags.standard(tags.variableName)], color: color('cyan') },
    ]),
  ),
];

interface Props {
  path: string;
  value: string;
  /** What it is compared with: changes are shown in the text. */
  original?: string;
  /** Tells what was typed; without it the text can only be read. */
  onChange?: (text: string) => void;
}

/** A text file, to read or to edit. Escape, then Tab leaves it by keyboard. */
export default function Code({ path, value, original, onChange }: Props) {
  const at = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const tell = useRef(onChange);
  const first = useRef(value);
  useEffect(() => {
    tell.current = onChange;
    first.current = value;
  });
  const readOnly = onChange === undefined;
  useEffect(() => {
    if (!at.current) return;
    const language = languages.find(([name]) => name.test(path))?.[1];
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce()),
      EditorView.contentAttributes.of({ 'aria-label': path, tabindex: '0' }),
      lineNumbers(),
      drawSelection(),
      search({ top: true }),
      highlightSelectionMatches(),
      bracketMatching(),
      look,
      language ? StreamLanguage.define(language) : [],
      readOnly
        ? [EditorState.readOnly.of(true), EditorView.editable.of(false), keymap.of(searchKeymap)]
        : [
            history(),
            indentOnInput(),
            indentUnit.of('  '),
            highlightActiveLine(),
            keymap.of([...searchKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
            EditorView.updateListener.of((u) => {
              if (u.docChanged) tell.current?.(u.state.doc.toString());
            }),
          ],
      original === undefined ? [] : unifiedMergeView({ original, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 }, gutter: true }),
    ];
    const made = new EditorView({ parent: at.current, state: EditorState.create({ doc: first.current, extensions }) });
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, [path, readOnly, original]);
  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== value) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={at} style={{ height: '100%', overflow: 'auto' }} />;
}
