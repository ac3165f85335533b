import { Component, type ReactNode } from 'react';
import { resetFailedComponents } from './lazyComponent';

interface Props {
  /** Renders the error. retry renders the children again. */
  fallback: (error: Error, retry: () => void) => ReactNode;
  children: ReactNode;
}

/** Renders a fallback when a child fails to load or render. */
export class ErrorBoundary extends Component<Props, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  private readonly retry = (): void => {
    resetFailedComponents();
    this.setState({ error: undefined });
  };

  override render(): ReactNode {
    const { error } = this.state;
    return error ? this.props.fallback(error, this.retry) : this.props.children;
  }
}
