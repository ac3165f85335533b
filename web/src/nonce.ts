const value = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '';

/** Returns the nonce that the Content-Security-Policy of this page requires for style elements. */
export const nonce = (): string => value;
