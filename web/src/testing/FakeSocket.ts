import { vi } from 'vitest';

/** A WebSocket whose server is the test: nothing happens until the test opens it, sends a message or drops it. */
export class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  /** The sockets since install, the oldest first. */
  static all: FakeSocket[] = [];

  /** Replaces WebSocket until vi.unstubAllGlobals. */
  static install(): void {
    FakeSocket.all = [];
    vi.stubGlobal('WebSocket', FakeSocket);
  }

  /** Returns the newest socket. */
  static latest(): FakeSocket {
    const socket = FakeSocket.all.at(-1);
    if (!socket) throw new Error('the client did not connect');
    return socket;
  }

  readyState = FakeSocket.CONNECTING;
  /** The messages that the client sent while the socket was open. */
  sent: string[] = [];
  /** The states in which the client called close. */
  closedIn: number[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((e: { data: string | ArrayBuffer }) => void) | null = null;
  onclose: ((e: { code: number }) => void) | null = null;

  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }

  /** Fails while connecting, and sends nothing on a closed socket, as in browsers. */
  send(message: string): void {
    if (this.readyState === FakeSocket.CONNECTING)
      throw new Error('the client sent a message before the socket opened');
    if (this.readyState === FakeSocket.OPEN) this.sent.push(message);
  }

  close(): void {
    this.closedIn.push(this.readyState);
    if (this.readyState < FakeSocket.CLOSING) this.readyState = FakeSocket.CLOSING;
  }

  /** Accepts the connection. */
  open(): void {
    this.readyState = FakeSocket.OPEN;
    this.onopen?.();
  }

  /** Sends JSON to the client, which can receive it until the connection is closed. */
  sendJSON(message: unknown): void {
    this.deliver(JSON.stringify(message));
  }

  /** Sends text to the client in a binary message. */
  sendBinary(text: string): void {
    this.deliver(new TextEncoder().encode(text).buffer as ArrayBuffer);
  }

  /** Closes the connection as if the network failed. */
  drop(): void {
    this.readyState = FakeSocket.CLOSED;
    this.onclose?.({ code: 1006 });
  }

  private deliver(data: string | ArrayBuffer): void {
    if (this.readyState === FakeSocket.CONNECTING || this.readyState === FakeSocket.CLOSED)
      throw new Error('the test sent a message on a socket that is not open');
    this.onmessage?.({ data });
  }
}
