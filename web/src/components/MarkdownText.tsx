import { Suspense } from 'react';
import { lazyComponent } from './lazyComponent';

const Markdown = lazyComponent(() => import('./Markdown'));

/** Characters and addresses that can be Markdown. Plain text needs no parser. */
const markup = /[*_`[\]#<>|~\\]|https?:|\n|^\s*[-+]\s|^\s*\d+\.\s/;

/** A short text that can contain Markdown, such as a description. */
export function MarkdownText({ text }: { text: string }) {
  if (!markup.test(text)) return text;
  return (
    <Suspense fallback={text}>
      <Markdown text={text} compact />
    </Suspense>
  );
}
