const value = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '';

/** The nonce that the Content-Security-Policy of this page lets style elements carry. */
export const nonce = (): string => value;
