// Support bundles arrive over a WebSocket: progress as text, the zip file as binary messages.

import type { Schema } from '../api/client';
import { type Query, buildURL } from '../api/client';

export type Progress = Schema<'SupportBundleProgress'>;

/** A complete support bundle. */
export interface Bundle {
  result: Schema<'SupportBundleResult'>;
  content: Blob;
}

interface Handlers {
  onProgress: (progress: Progress) => void;
  onDone: (bundle: Bundle) => void;
  onError: (message: string) => void;
}

/** Creates a support bundle. The returned function cancels it. */
export function createBundle(query: Query, { onProgress, onDone, onError }: Handlers): () => void {
  const parts: Blob[] = [];
  let ended = false;
  const url = buildURL('/debug/support-bundle', {}, query);
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${url}`);
  socket.onmessage = ({ data }: MessageEvent<Blob | string>) => {
    if (typeof data !== 'string') {
      parts.push(data);
      return;
    }
    const progress = JSON.parse(data) as Progress;
    if (!progress.result) return onProgress(progress);
    ended = true;
    onDone({ result: progress.result, content: new Blob(parts, { type: 'application/zip' }) });
  };
  socket.onclose = () => {
    if (!ended) onError('The server closed the connection before the support bundle was complete. Try again.');
  };
  return () => {
    ended = true;
    socket.close(1000);
  };
}
