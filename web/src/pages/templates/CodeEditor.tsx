import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import {
  HighlightStyle,
  type StreamParser,
  StreamLanguage,
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { dockerFile } from '@codemirror/legacy-modes/mode/dockerfile';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import { yaml } from '@codemirror/legacy-modes/mode/yaml';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useEffectEvent, useRef } from 'react';
import { nonce } from '../../nonce';
import { hcl, tags } from './hcl';
import { problemGutter, setProblems } from './problemGutter';
import type { Problem } from './sourceCheck';

const languages: [RegExp, StreamParser<unknown>][] = [
  [/\.(tf|tfvars|hcl)$/, hcl as StreamParser<unknown>],
  [/\.(sh|bash)$/, shell as StreamParser<unknown>],
  [/\.(ya?ml)$/, yaml as StreamParser<unknown>],
  [/(^|\/)(Dockerfile|Containerfile)[^/]*$/, dockerFile as StreamParser<unknown>],
];

const color = (name: string) => `var(--mantine-color-${name}-text)`;

// One theme for both color schemes, based on the CSS variables of the page.
const editorTheme: Extension = [
  EditorView.theme({
    '&': {
      fontSize: '13px',
      backgroundColor: 'var(--mantine-color-body)',
      color: 'var(--mantine-color-text)',
      height: '100%',
    },
    '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.55' },
    '.cm-gutters': {
      backgroundColor: 'var(--mantine-color-body)',
      color: 'var(--mantine-color-dimmed)',
      borderRight: '1px solid var(--mantine-color-default-border)',
    },
    '.cm-activeLine': { backgroundColor: 'var(--mantine-color-default-hover)' },
    '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
    '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
      backgroundColor: 'color-mix(in srgb, var(--mantine-primary-color-filled), transparent 65%)',
    },
    '.cm-panels': { backgroundColor: 'var(--mantine-color-default)', color: 'var(--mantine-color-text)' },
    '.cm-changedLine, &.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': {
      backgroundColor: 'color-mix(in srgb, var(--mantine-color-green-filled), transparent 85%)',
    },
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

/** Selects the start of a line, which highlights it, and scrolls to it. */
function showLine(view: EditorView, line: number): void {
  const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
}

interface Props {
  path: string;
  value: string;
  /** The text to compare with. Changes are highlighted. */
  original?: string;
  /** The line to highlight and scroll to, counted from 1. */
  line?: number;
  /** A line to go to, counted from 1; a new object goes there again. */
  target?: { line: number };
  /** Problems of the file, marked in the gutter. */
  problems?: readonly Problem[];
  /** Called when the text changes. The editor is read-only without it. */
  onChange?: (text: string) => void;
}

const noProblems: readonly Problem[] = [];

/** A code viewer or editor. Escape, then Tab moves the focus out of it. */
export default function CodeEditor({ path, value, original, line, target, problems = noProblems, onChange }: Props) {
  const at = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const reportChange = useEffectEvent((text: string) => onChange?.(text));
  const getValue = useEffectEvent(() => value);
  const readOnly = onChange === undefined;
  useEffect(() => {
    if (!at.current) return;
    const language = languages.find(([name]) => name.test(path))?.[1];
    const extensions: Extension[] = [
      EditorView.cspNonce.of(nonce()),
      EditorView.contentAttributes.of({ 'aria-label': path, tabindex: '0' }),
      readOnly ? [] : problemGutter,
      lineNumbers(),
      drawSelection(),
      search({ top: true }),
      highlightSelectionMatches(),
      bracketMatching(),
      editorTheme,
      line === undefined ? [] : highlightActiveLine(),
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
              if (u.docChanged) reportChange(u.state.doc.toString());
            }),
          ],
      original === undefined
        ? []
        : unifiedMergeView({
            original,
            mergeControls: false,
            collapseUnchanged: { margin: 3, minSize: 6 },
            gutter: true,
          }),
    ];
    const made = new EditorView({ parent: at.current, state: EditorState.create({ doc: getValue(), extensions }) });
    view.current = made;
    if (line !== undefined) showLine(made, line);
    return () => {
      view.current = null;
      made.destroy();
    };
  }, [path, readOnly, original, line]);
  useEffect(() => {
    view.current?.dispatch({ effects: setProblems.of(problems) });
  }, [problems, path, readOnly, original, line]);
  useEffect(() => {
    if (!target || !view.current) return;
    showLine(view.current, target.line);
    view.current.focus();
  }, [target]);
  // The editor holds the text; this applies a value that the user did not type.
  useEffect(() => {
    const v = view.current;
    if (v && v.state.doc.toString() !== value)
      v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={at} style={{ height: '100%', overflow: 'auto' }} />;
}
