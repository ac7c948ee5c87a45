import type { View } from '#log';
import { boundSources, type ApiKey, type Caller } from '#model';

interface Holder {
  readonly caller: Caller;
  readonly listener: () => void;
}

/** Who is to be told when the key that let somebody in no longer does, by key. */
export class Revocations {
  readonly #holders = new Map<string, Set<Holder>>();

  constructor(private readonly keys: View<ApiKey>) {
    keys.changes(({ key }) => this.#tell(key));
  }

  /** See `Keyring.revoked`. */
  add(caller: Caller, listener: () => void): () => void {
    const { keyId } = caller;
    const holder = { caller, listener };
    const holders = this.#holders.get(keyId);
    if (holders) holders.add(holder);
    else this.#holders.set(keyId, new Set([holder]));
    // The key may have gone between the caller's admission and this call.
    this.#tell(keyId);
    return () => void this.#remove(holder);
  }

  #tell(keyId: string): void {
    for (const holder of this.#holders.get(keyId) ?? []) {
      if (bears(holder.caller, this.keys.get(keyId))) continue;
      // Each by itself: a listener that throws takes nobody else's word away.
      queueMicrotask(() => this.#remove(holder) && holder.listener());
    }
  }

  /** False when it was removed before. */
  #remove(holder: Holder): boolean {
    const { keyId } = holder.caller;
    const holders = this.#holders.get(keyId);
    if (!holders?.delete(holder)) return false;
    if (holders.size === 0) this.#holders.delete(keyId);
    return true;
  }
}

/** Whether a key still says of its bearer what it said when it let the caller in. */
const bears = ({ orgId, scopes, bound }: Caller, key: ApiKey | undefined): boolean =>
  key?.orgId === orgId &&
  key.scopes.length === scopes.length &&
  scopes.every((scope) => key.scopes.includes(scope)) &&
  boundSources(key.sources)?.name === bound?.name;
