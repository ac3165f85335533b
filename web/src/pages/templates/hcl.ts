// Syntax highlighting for HCL, the language of Terraform.

import type { StreamParser } from '@codemirror/language';

export { tags } from '@lezer/highlight';

interface State {
  comment: boolean;
  /** The delimiter of the current heredoc. */
  until: string;
  /** The delimiter of a heredoc that starts on the next line. */
  next: string;
}

const keywords =
  /^(?:resource|data|variable|output|module|provider|locals|terraform|dynamic|for_each|count|for|in|if|moved|import|check|lifecycle|content|backend|required_providers)$/;
const atoms = /^(?:true|false|null)$/;
const values = /^(?:var|local|data|module|each|self|path)$/;

/** A line-based tokenizer for HCL. */
export const hcl: StreamParser<State> = {
  name: 'hcl',
  startState: () => ({ comment: false, until: '', next: '' }),
  token(stream, state) {
    if (stream.sol() && state.next) {
      state.until = state.next;
      state.next = '';
    }
    if (state.until) {
      if (stream.sol() && stream.string.trim() === state.until) state.until = '';
      stream.skipToEnd();
      return 'string';
    }
    if (state.comment) {
      if (stream.skipTo('*/')) {
        stream.match('*/');
        state.comment = false;
      } else stream.skipToEnd();
      return 'comment';
    }
    if (stream.eatSpace()) return null;
    if (stream.match('/*')) {
      state.comment = true;
      return 'comment';
    }
    if (stream.match('//') || stream.match('#')) {
      stream.skipToEnd();
      return 'comment';
    }
    const here = stream.match(/^<<-?([A-Za-z_]\w*)/);
    if (here && here !== true) {
      state.next = here[1] ?? '';
      return 'string';
    }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string';
    if (stream.match(/^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number';
    if (stream.match(/^[A-Za-z_][\w-]*/)) {
      const word = stream.current();
      if (atoms.test(word)) return 'bool';
      if (stream.match(/^\s*=(?!=)/, false)) return 'propertyName';
      if (keywords.test(word)) return 'keyword';
      return values.test(word) ? 'typeName' : 'variableName';
    }
    stream.next();
    return null;
  },
  languageData: {
    commentTokens: { line: '#', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', '"'] },
  },
};
