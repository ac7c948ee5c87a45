/** A signal below that of the caller. */
export interface Linked {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  /** Lets go of the caller's signal, which may live as long as the process. */
  readonly release: () => void;
}

/** As `AbortSignal.any` with a controller of one's own, but nothing stays at `parent` once it is released. */
export function linked(parent: AbortSignal | undefined): Linked {
  const own = new AbortController();
  const follow = (): void => own.abort(parent!.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener('abort', follow, { once: true });
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    release: () => parent?.removeEventListener('abort', follow),
  };
}
