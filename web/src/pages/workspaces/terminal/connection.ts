// Connects to a terminal of a workspace. After a lost connection the terminal continues, and
// neither input nor output is lost or repeated. docs/web-terminal.md describes the protocol.

export type TerminalState = 'connecting' | 'open' | 'lost' | 'ended';

export interface TerminalSize {
  width: number;
  height: number;
}

interface Options {
  /** The terminal. The same ID always leads to the same shell. */
  id: string;
  /** The command that runs instead of a shell. */
  command?: string;
  /** Returns the URL of a WebSocket with that query. */
  getURL: (query: URLSearchParams) => Promise<string>;
  getSize: () => TerminalSize;
  onOutput: (output: Uint8Array) => void;
  onState: (state: TerminalState) => void;
}

export interface TerminalConnection {
  /** Sends input, or keeps it until the terminal is connected. */
  type: (data: string) => void;
  /** Sends the current size. */
  resize: () => void;
  close: () => void;
}

interface Status {
  session: string;
  output: number;
  input: number;
  repaint?: boolean;
  paint?: number;
  ended?: boolean;
}

interface Input {
  data: string;
  seq: number;
}

/** The longest input in one message, in UTF-16 code units. The server accepts 1 MiB of JSON. */
const maxMessage = 64 << 10;

/** The longest input that waits for a connection or an acknowledgment, in UTF-16 code units. */
const maxPending = 4 << 20;

/** How long the server may leave input unanswered before the connection counts as lost, in milliseconds. */
const patience = 5_000;

/** Delays before the next attempt to connect, in milliseconds. */
const shortest = 250;
const longest = 5_000;

/** Splits input into messages. Characters outside the Basic Multilingual Plane stay whole. */
function* splitInput(data: string): Generator<string> {
  for (let from = 0; from < data.length;) {
    let to = Math.min(from + maxMessage, data.length);
    if (to < data.length && /[\uD800-\uDBFF]/.test(data.charAt(to - 1))) to--;
    yield data.slice(from, to);
    from = to;
  }
}

/** Opens a connection to a terminal, which reconnects until it is closed or the terminal ends. */
export function connectTerminal({ id, command, getURL, getSize, onOutput, onState }: Options): TerminalConnection {
  const viewer = crypto.randomUUID();
  let session: string | undefined;
  let offset = 0; // bytes of output received in the session
  let uncounted = 0; // bytes of a repaint that are still to come
  let seq = 0;
  let pending: Input[] = [];
  let pendingLength = 0;
  let socket: WebSocket | undefined;
  let greeted = false; // the first status of the connection arrived
  let finished = false;
  let delay = shortest;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let watchdog: ReturnType<typeof setTimeout> | undefined;

  const send = (message: object) => {
    if (greeted) socket?.send(JSON.stringify(message));
  };
  const setPending = (inputs: Input[]) => {
    pending = inputs;
    pendingLength = inputs.reduce((length, input) => length + input.data.length, 0);
  };
  /** Reconnects when input stays unanswered, as after a change of the network. */
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = greeted && pending.length > 0 ? setTimeout(lose, patience) : undefined;
  };
  const disconnect = () => {
    clearTimeout(retry);
    clearTimeout(watchdog);
    watchdog = undefined;
    greeted = false;
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
    socket = undefined;
  };
  const finish = () => {
    finished = true;
    disconnect();
    removeEventListener('online', reconnect);
  };
  const lose = () => {
    if (finished) return;
    disconnect();
    onState('lost');
    retry = setTimeout(() => void connect(), delay * (0.5 + Math.random()));
    delay = Math.min(delay * 2, longest);
  };
  const reconnect = () => {
    if (greeted) return;
    disconnect();
    void connect();
  };
  const receiveStatus = (status: Status) => {
    if (status.session !== session || status.repaint) {
      if (session && status.session !== session) setPending([]); // typed for a shell that ended
      session = status.session;
      offset = status.output;
      uncounted = status.paint ?? 0;
    }
    setPending(pending.filter((input) => input.seq > status.input));
    if (status.ended) {
      finish();
      onState('ended');
      return;
    }
    if (greeted) return;
    greeted = true;
    delay = shortest;
    onState('open');
    send(getSize());
    pending.forEach(send);
  };
  const receiveOutput = (output: Uint8Array) => {
    const repainted = Math.min(uncounted, output.length);
    uncounted -= repainted;
    offset += output.length - repainted;
    onOutput(output);
  };
  let attempts = 0;
  const connect = async () => {
    const attempt = ++attempts;
    const { width, height } = getSize();
    const query = new URLSearchParams({ reconnect: id, viewer, width: String(width), height: String(height) });
    if (command) query.set('command', command);
    if (session) {
      query.set('session', session);
      query.set('offset', String(offset));
    }
    let url: string;
    try {
      url = await getURL(query);
    } catch {
      if (attempt === attempts) lose();
      return;
    }
    if (finished || attempt !== attempts) return;
    socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === 'string') receiveStatus(JSON.parse(data) as Status);
      else receiveOutput(new Uint8Array(data));
      watch();
    };
    socket.onclose = lose;
  };

  onState('connecting');
  addEventListener('online', reconnect);
  void connect();
  return {
    type(data) {
      if (finished || pendingLength + data.length > maxPending) return;
      for (const part of splitInput(data)) {
        const input = { data: part, seq: ++seq };
        pending.push(input);
        pendingLength += part.length;
        send(input);
      }
      if (watchdog === undefined) watch();
    },
    resize() {
      send(getSize());
    },
    close: finish,
  };
}
