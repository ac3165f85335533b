// Marks problems in the gutter and in the text of the code editor.

import { type Extension, RangeSet, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, GutterMarker, gutter } from '@codemirror/view';
import type { EditorState } from '@codemirror/state';
import type { Problem } from './sourceCheck';

/** Replaces the marked problems. */
export const setProblems = StateEffect.define<readonly Problem[]>();

class Marker extends GutterMarker {
  private readonly severity: string;
  private readonly title: string;

  constructor(severity: string, title: string) {
    super();
    this.severity = severity;
    this.title = title;
  }

  eq(other: Marker): boolean {
    return other.severity === this.severity && other.title === this.title;
  }

  toDOM(): HTMLElement {
    const dot = document.createElement('span');
    dot.className = `cm-problem cm-problem-${this.severity}`;
    dot.title = this.title;
    return dot;
  }
}

const describe = (problem: Problem): string => [problem.summary, problem.detail].filter(Boolean).join(': ');

/** Returns the problems by line, those with a line of the document only. */
function byLine(state: EditorState, problems: readonly Problem[]): [number, Problem[]][] {
  const lines = new Map<number, Problem[]>();
  for (const problem of problems) {
    if (problem.line < 1 || problem.line > state.doc.lines) continue;
    lines.set(problem.line, [...(lines.get(problem.line) ?? []), problem]);
  }
  return [...lines].sort(([a], [b]) => a - b);
}

function markLines(state: EditorState, problems: readonly Problem[]): RangeSet<GutterMarker> {
  const out = new RangeSetBuilder<GutterMarker>();
  for (const [line, all] of byLine(state, problems)) {
    const { from } = state.doc.line(line);
    const severity = all.some((problem) => problem.severity === 'error') ? 'error' : 'warning';
    out.add(from, from, new Marker(severity, all.map(describe).join('\n')));
  }
  return out.finish();
}

const markers = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(old, tr) {
    for (const effect of tr.effects) if (effect.is(setProblems)) return markLines(tr.state, effect.value);
    return old.map(tr.changes);
  },
});

const underlines = StateField.define({
  create: () => Decoration.none,
  update(old, tr) {
    for (const effect of tr.effects) {
      if (!effect.is(setProblems)) continue;
      return Decoration.set(
        byLine(tr.state, effect.value).flatMap(([line, all]) => {
          const { from, to } = tr.state.doc.line(line);
          if (from === to) return [];
          return [
            Decoration.mark({ class: 'cm-problem-text', attributes: { title: all.map(describe).join('\n') } }).range(
              from,
              to,
            ),
          ];
        }),
      );
    }
    return old.map(tr.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The gutter with a mark for each line that has a problem, and an underline below the line. */
export const problemGutter: Extension = [
  markers,
  underlines,
  gutter({
    class: 'cm-problems',
    markers: (view) => view.state.field(markers),
    initialSpacer: () => new Marker('none', ''),
  }),
  EditorView.theme({
    '.cm-problem': { display: 'inline-block', width: '8px', height: '8px', borderRadius: '50%', margin: '0 3px' },
    '.cm-problem-error': { backgroundColor: 'var(--mantine-color-red-filled)' },
    '.cm-problem-warning': { backgroundColor: 'var(--mantine-color-yellow-filled)', borderRadius: '0' },
    '.cm-problem-text': {
      textDecoration: 'underline wavy var(--mantine-color-red-filled)',
      textDecorationSkipInk: 'none',
      textUnderlineOffset: '3px',
    },
  }),
];
